package main

import (
	"fmt"
	"runtime"
	"time"
)

// manner is how a population is worked on.
type manner int

const (
	single manner = iota
	batch
	ticks // within a tick, by a system
	tenth // likewise, of a random tenth of the entities
)

func layPlain(f field, n int) {
	f.place(position, min(10*n, bystandersMax))
	f.place(moving, n)
}

func layFragmented(f field, n int) {
	for i := range n {
		f.place(moving|extras(i%32), 1)
	}
}

func layAmong(f field, n int) {
	f.place(moving, n)
	for i := range min(max(4*n, 256), strangersMax) {
		f.place(position|extras(i%256), 1)
	}
}

func iterate(lay func(f field, n int)) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.iterate == nil {
			return nil
		}
		f := c.iterate()
		lay(f, n)
		passes := 0
		return &subject{
			ops:   n,
			warm:  true,
			work:  repeated(f.pass, &passes),
			check: func() error { return same("sum of positions", f.sum(), float64(2*n*passes)) },
		}
	}
}

func lookup(c *contender, n int) *subject {
	if c.lookup == nil {
		return nil
	}
	pass := c.lookup(n).read
	sum, passes := 0.0, 0
	return &subject{
		ops:  n,
		warm: true,
		work: func(times int) time.Duration {
			passes += times
			start := time.Now()
			for range times {
				sum += pass()
			}
			return time.Since(start) - clockCost
		},
		check: func() error { return same("sum of X", sum, float64(passes)*float64(n)*float64(n-1)/2) },
	}
}

func update(c *contender, n int) *subject {
	if c.lookup == nil {
		return nil
	}
	l := c.lookup(n)
	if l.write == nil {
		return nil
	}
	passes := 0
	return &subject{
		ops:   n,
		warm:  true,
		work:  repeated(l.write, &passes),
		check: func() error { return same("sum of X", l.read(), float64(passes)*float64(n)+float64(n)*float64(n-1)/2) },
	}
}

// creator returns the function that creates n in a population, or nil.
func (m manner) creator(p population) func(int) {
	if m == batch {
		return p.createBatch
	}
	return p.create
}

func create(wide bool, m manner) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.populate == nil {
			return nil
		}
		p := c.populate(wide, n)
		create := m.creator(p)
		if create == nil {
			return nil
		}
		create(n)
		p.clear()
		made := 0
		return &subject{
			ops: n,
			work: stretches(nil, func() { create(n) }, func(last bool) {
				if last {
					made = p.count()
				}
				p.clear()
			}),
			check: func() error { return same("number of entities", made, n) },
		}
	}
}

// creator returns the function that creates n entities of given values, or nil.
func (m manner) creatorOf(v values) func(int) {
	if m == batch {
		return v.createBatch
	}
	return v.create
}

func createValues(wide bool, m manner) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.values == nil {
			return nil
		}
		v := c.values(wide, n)
		create := m.creatorOf(v)
		if create == nil {
			return nil
		}
		create(n)
		v.clear()
		sum := 0.0
		return &subject{
			ops: n,
			work: stretches(nil, func() { create(n) }, func(last bool) {
				if last {
					sum = v.sum()
				}
				v.clear()
			}),
			check: func() error { return same("sum of the fields", sum, valuesSum(wide, n)) },
		}
	}
}

func createValuesAlloc(wide bool) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.values == nil || c.values(wide, n).create == nil {
			return nil
		}
		var v values
		sum := 0.0
		return &subject{
			ops: n,
			work: stretches(func() { v = c.values(wide, n) }, func() { v.create(n) }, func(last bool) {
				if last {
					sum = v.sum()
				}
				v = values{}
			}),
			check: func() error { return same("sum of the fields", sum, valuesSum(wide, n)) },
		}
	}
}

// valuesSum is the sum of the fields of n entities of given values.
func valuesSum(wide bool, n int) float64 {
	if wide {
		return float64(n * extrasMax * (1 + 2))
	}
	return float64(n * (1 + 2 + 3 + 4))
}

func createAlloc(m manner) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.populate == nil || m.creator(c.populate(false, n)) == nil {
			return nil
		}
		var p population
		var create func(int)
		made := 0
		return &subject{
			ops: n,
			work: stretches(func() {
				p = c.populate(false, n)
				create = m.creator(p)
			}, func() { create(n) }, func(last bool) {
				if last {
					made = p.count()
				}
				p, create = population{}, nil
			}),
			check: func() error { return same("number of entities", made, n) },
		}
	}
}

func destroy(wide bool, m manner) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.populate == nil {
			return nil
		}
		p := c.populate(wide, n)
		destroy := p.destroy
		if m == batch {
			destroy = p.destroyBatch
		}
		if destroy == nil {
			return nil
		}
		made, left := 0, 0
		return &subject{
			ops: n,
			work: stretches(func() { p.create(n) }, func() {
				destroy()
			}, func(last bool) {
				if last {
					left = p.count()
					p.create(n)
					made = p.count()
					p.clear()
				}
			}),
			check: func() error {
				if err := same("number of entities before", made, n); err != nil {
					return err
				}
				return same("number of entities after", left, 0)
			},
		}
	}
}

func addRemove(wide bool, m manner) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.change == nil {
			return nil
		}
		ch := c.change(wide, n)
		add, remove := ch.add, ch.remove
		switch m {
		case batch:
			add, remove = ch.addBatch, ch.removeBatch
		case ticks:
			add, remove = ch.addTick, ch.removeTick
		case tenth:
			add, remove = ch.addTenth, ch.removeTick
		}
		if add == nil || remove == nil {
			return nil
		}
		add()
		with, want := ch.count(), n
		remove()
		if m == tenth {
			want = drawnOf(n)
		}
		changes := 0
		return &subject{
			ops: max(want, 1),
			work: repeated(func() {
				add()
				remove()
			}, &changes),
			check: func() error {
				if err := same("number of entities with the component", with, want); err != nil {
					return err
				}
				return same("number of entities with it after", ch.count(), 0)
			},
		}
	}
}

func newWorld(c *contender, _ int) *subject {
	if c.newWorld == nil {
		return nil
	}
	made := 0
	return &subject{
		ops:   1,
		warm:  true,
		work:  repeated(func() { runtime.KeepAlive(c.newWorld()) }, &made),
		check: func() error { return nil },
	}
}

// same returns an error if a contender's work is not the requested work.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("wrong result: %s is %v, want %v", what, got, want)
	}
	return nil
}
