package refresh

import "github.com/atoll-sim/atoll/internal/extend"

// gather finds the queues that requests were sent on: ports by number, or the queue of a replay;
// then the outboxes of the shards and of global systems, whose requests it publishes: their systems
// have ended. It returns how many requests there are. It is the step gather, by the coordinator.
func (e *Engine) gather(ports bool) (sent int) {
	clear(e.senders)
	clear(e.producers)
	e.senders, e.producers, e.active = e.senders[:0], e.producers[:0], nil
	if e.Closed.Load() {
		return 0 // a sender that sends now abandons its queue: see Port.sent
	}
	if ports {
		e.senders = e.Ports.collect(e.senders)
	}
	for _, p := range e.senders {
		e.Times.waited = append(e.Times.waited, p.since.Load())
		queue := p.Queue.Load()
		sent += queue.Ready()
		e.producers = append(e.producers, producer{queue: queue, port: p})
	}
	if f := e.Replay; f != nil { // no ports are open
		sent += f.Queue.Ready()
		e.producers = append(e.producers, producer{queue: f.Queue, begins: f.Begins})
		f.Begins = f.Begins[:0]
	}
	for _, q := range e.Outboxes {
		q := *q
		if q == nil {
			continue
		}
		q.Publish()
		if !q.Empty() {
			sent += q.Ready()
			e.producers = append(e.producers, producer{queue: q})
		}
	}
	return sent
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
