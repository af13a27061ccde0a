package refresh

import "github.com/atoll-sim/atoll/internal/extend"

// gather finds the queues that requests were sent on: ports by number, or the queue of a replay;
// then the outboxes of the shards and of global systems, whose requests it publishes: their systems
// have ended. It returns how many requests there are. It is the step gather, by the coordinator.
func (e *Engine) gather(ports bool) (sent int) {
	clear(e.producers)
	e.producers, e.active = e.producers[:0], nil
	if e.Closed.Load() {
		e.collect(false)
		return 0 // a sender that sends now abandons its queue: see Port.sent
	}
	if !e.seal.on {
		e.collect(ports)
	}
	for i, p := range e.senders {
		e.Times.waited = append(e.Times.waited, p.since.Load())
		x := producer{queue: p.Queue.Load(), port: p}
		if e.seal.on {
			x.upto = e.seal.upto[i]
			sent += x.queue.ReadyTo(x.upto)
		} else {
			sent += x.queue.Ready()
		}
		e.producers = append(e.producers, x)
	}
	if f := e.Replay; f != nil { // no ports are open
		sent += f.Queue.Ready()
		e.producers = append(e.producers, producer{queue: f.Queue, begins: f.Begins})
		f.Begins = f.Begins[:0]
	}
	for i, q := range e.Outboxes {
		q := *q
		if q == nil {
			continue
		}
		q.Publish()
		if !q.Empty() {
			sent += q.Ready()
			e.producers = append(e.producers, producer{queue: q, shard: i})
		}
	}
	return sent
}

// collect finds the ports that have sent something, by number.
func (e *Engine) collect(some bool) {
	if len(e.senders) > 0 {
		clear(e.senders)
		e.senders = e.senders[:0]
	}
	if some {
		e.senders = e.Ports.collect(e.senders)
	}
}

// divide divides the producers into partitions with about as many requests each, before the step
// read.
func (e *Engine) divide(sent int) {
	n := min(len(e.producers), max(1, sent/smallStep), extend.PartitionsMax)
	for len(e.partitions) < n {
		e.partitions = append(e.partitions, newPartition(e, len(e.partitions)))
	}
	e.active = e.partitions[:n]
	rest, seen := e.producers, 0
	for i, x := range e.active {
		to := 0
		for to < len(rest) && (i == n-1 || int64(seen) < int64(sent)*int64(i+1)/int64(n)) {
			seen += rest[to].queue.Ready()
			to++
		}
		x.producers, rest = rest[:to], rest[to:]
	}
}
