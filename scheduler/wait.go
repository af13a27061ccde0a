package scheduler

import "time"

// WaitShardsMax is the largest number of shards for which Stats.Waits is filled: for that many the
// table of all pairs of shards takes half a megabyte.
const WaitShardsMax = 256

// Wait is how long a shard waited at fences because another shard was the last to pass.
// world.AllShards stands for global systems.
type Wait struct {
	Shard, For int
	Time       time.Duration // since the scheduler was made
}

// wait is a time for which a program stood at a fence, in ticks of the clock.
type wait struct {
	step     int32 // of the program
	before   int64 // the state of the program: what it stood before
	from, to int64
}

// stand ends the wait of a program that a worker takes again.
func (p *program) stand(now int64) {
	if took := now - p.stoppedAt; took > 0 {
		p.stepTimes[p.next].waited += took
		p.waits = append(p.waits, wait{int32(p.next), p.stopped, p.stoppedAt, now})
	}
	p.stoppedAt = 0
}

// blame adds the time that a program waited to the times of the programs that it waited for. All
// systems have run.
func (t *tick) blame(p *program) {
	var row []int64
	if n := len(t.programs); t.pairs != nil {
		row = t.pairs[int(t.numberOf(p))*n:][:n]
	}
	for i := range p.waits {
		x := &p.waits[i]
		q, step := t.waitedFor(x.before)
		took := x.to - x.from
		p.took.waited += took
		p.steps[x.step].system.waited += took
		q.took.heldUp += took
		q.stepTimes[step].heldUp += took
		if row != nil {
			row[t.numberOf(q)] += took
		}
	}
}

// appendWaits appends which shards waited for which.
func (t *tick) appendWaits(dst []Wait) []Wait {
	n := len(t.programs)
	for at, took := range t.pairs {
		if took > 0 {
			dst = append(dst, Wait{t.programs[at/n].shard, t.programs[at%n].shard, t.scale.Duration(took)})
		}
	}
	return dst
}

// waitedFor returns the program that another program waited for, and the step that it had to pass.
func (t *tick) waitedFor(before int64) (q *program, step int) {
	if before&nearBit != 0 {
		q = &t.programs[before&^nearBit>>32]
		return q, q.find(int(int32(before)))
	}
	f := &t.fences[before-1]
	return &t.programs[f.last], int(f.step)
}
