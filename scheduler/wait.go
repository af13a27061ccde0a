package scheduler

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

// blame adds what a program waited for to the times of those that it waited for. All systems have run.
func (t *tick) blame(p *program) {
	for i := range p.waits {
		x := &p.waits[i]
		q, step := t.waitedFor(x.before)
		q.stepTimes[step].heldUp += x.to - x.from
	}
}

// waitedFor returns the program that opened what another stood before, and the step that it had to pass.
func (t *tick) waitedFor(before int64) (q *program, step int) {
	if before&nearBit != 0 {
		q = &t.programs[before&^nearBit>>32]
		return q, q.find(int(int32(before)))
	}
	f := &t.fences[before-1]
	return &t.programs[f.last], int(f.step)
}
