package scheduler

import "github.com/atoll-sim/atoll/world"

// wait is a time for which a program stood before a fence, in ticks of the clock.
type wait struct {
	step     int32 // of the program
	before   int64 // the state of the program: what it stood before
	from, to int64
}

// stand ends the standing of a program that a worker takes again.
func (p *program) stand(now int64) {
	if took := now - p.stood; took > 0 {
		p.stepTimes[p.next].waited += took
		p.waits = append(p.waits, wait{int32(p.next), p.before, p.stood, now})
	}
	p.stood = 0
}

// blame adds what a program waited for to the times of those that it waited for. All systems have run; began is when
// the tick did.
func (t *tick) blame(p *program, began int64) {
	for _, x := range p.waits {
		if q, after := t.waitedFor(x.before, began); q != nil {
			q.stepTimes[q.find(after)].heldUp += x.to - x.from
		}
	}
}

// waitedFor returns the program that was the last to open what another stood before, and the place of the system that
// it had to pass.
func (t *tick) waitedFor(before, began int64) (q *program, after int) {
	if before&nearBit != 0 {
		return &t.programs[before&^nearBit>>32], int(int32(before))
	}
	after = int(t.fences[before-1].after)
	last := int64(-1)
	for i := range t.programs {
		p := &t.programs[i]
		if t.systems[after].global != (p.shard == world.AllShards) {
			continue
		}
		if at := p.passed(after, began); at > last {
			q, last = p, at
		}
	}
	return q, after
}

// passed returns when the program passed a system in the tick that began then, about: when it had run the last system
// up to that one.
func (p *program) passed(at int, began int64) int64 {
	for k := p.find(at); k >= 0; k-- {
		if ended := p.stepTimes[k].ended; ended >= began {
			return ended
		}
	}
	return 0
}
