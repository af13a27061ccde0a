package main

import (
	"fmt"
	"runtime"
	"time"
)

// bench is one category of the comparison: a setup for each contender and size.
type bench struct {
	name  string
	title string
	// quick are the sizes measured under -quick.
	quick []int
	// once: the size plays no part.
	once bool
	// setup returns nil if the contender does not offer it.
	setup func(c *contender, n int) *subject
}

// sizes are the numbers of entities of the public comparison.
var sizes = []int{1, 4, 16, 64, 256, 1024, 16_000, 256_000, 1_000_000}

var (
	quickCore = []int{1024, 16_000, 256_000, 1_000_000}
	quickOne  = []int{16_000}
)

// The entities that do not match are 10 for each that does in iterate2, and 4 in
// iterate2-256, but limited: more would only take memory.
const (
	bystandersMax = 2_560_000
	strangersMax  = 256_000
)

var benches = []bench{
	{name: "iterate2", title: "Loop over 2 components, among 10 times as many entities that have but one of them", quick: quickCore, setup: iterate(layPlain)},
	{name: "iterate2-frag32", title: "Loop over 2 components, the entities spread over 32 archetypes", quick: quickOne, setup: iterate(layFragmented)},
	{name: "iterate2-256", title: "Loop over 2 components, among 256 archetypes that do not match", quick: quickOne, setup: iterate(layAmong)},
	{name: "random", title: "Read 1 component by shuffled handles, checked", quick: quickCore, setup: lookup},
	{name: "random-get", title: "The same, by the plain call where the fastest path takes two", quick: quickCore, setup: lookupPlain},
	{name: "create2", title: "Create with 2 components one at a time, in storage that has grown before", quick: quickCore, setup: create(false, single)},
	{name: "create2-values", title: "Create with 2 components of given values one at a time, in storage that has grown before", quick: quickCore, setup: createValues},
	{name: "create2-batch", title: "Create with 2 components in batches, in storage that has grown before", quick: quickCore, setup: create(false, batch)},
	{name: "create2-alloc", title: "Create with 2 components one at a time, in a new world", quick: quickCore, setup: createAlloc(single)},
	{name: "create2-alloc-batch", title: "Create with 2 components in batches, in a new world", quick: quickCore, setup: createAlloc(batch)},
	{name: "create10", title: "Create with 10 components one at a time, in storage that has grown before", quick: quickOne, setup: create(true, single)},
	{name: "create10-batch", title: "Create with 10 components in batches, in storage that has grown before", quick: quickOne, setup: create(true, batch)},
	{name: "destroy2", title: "Destroy with 2 components one at a time", quick: quickCore, setup: destroy(false, single)},
	{name: "destroy2-batch", title: "Destroy with 2 components in batches", quick: quickCore, setup: destroy(false, batch)},
	{name: "destroy10", title: "Destroy with 10 components one at a time", quick: quickOne, setup: destroy(true, single)},
	{name: "destroy10-batch", title: "Destroy with 10 components in batches", quick: quickOne, setup: destroy(true, batch)},
	{name: "change1", title: "Add a component to an entity with 1 and remove it, one at a time", quick: quickOne, setup: addRemove(false, single)},
	{name: "change1-batch", title: "Add a component to an entity with 1 and remove it, in batches", quick: quickOne, setup: addRemove(false, batch)},
	{name: "change11", title: "Add a component to an entity with 11 and remove it, one at a time", quick: quickOne, setup: addRemove(true, single)},
	{name: "change11-batch", title: "Add a component to an entity with 11 and remove it, in batches", quick: quickOne, setup: addRemove(true, batch)},
	{name: "new-world", title: "Make a world", quick: []int{1}, once: true, setup: newWorld},
}

// manner is how a population is worked on.
type manner bool

const (
	single manner = false
	batch  manner = true
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

func lookup(c *contender, n int) *subject { return lookupBy(c.lookup, n) }

func lookupPlain(c *contender, n int) *subject {
	if c.lookupPlain == nil {
		return lookup(c, n)
	}
	return lookupBy(c.lookupPlain, n)
}

func lookupBy(setup func(int) func() float64, n int) *subject {
	if setup == nil {
		return nil
	}
	pass := setup(n)
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

// creator is the way to create n in a population, or nil.
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
			work: sections(nil, func() { create(n) }, func(last bool) {
				if last {
					made = p.count()
				}
				p.clear()
			}),
			check: func() error { return same("number of entities", made, n) },
		}
	}
}

func createValues(c *contender, n int) *subject {
	if c.values == nil {
		return nil
	}
	v := c.values(n)
	v.create(n)
	v.clear()
	sum := 0.0
	return &subject{
		ops: n,
		work: sections(nil, func() { v.create(n) }, func(last bool) {
			if last {
				sum = v.sum()
			}
			v.clear()
		}),
		check: func() error { return same("sum of the fields", sum, float64(10*n)) },
	}
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
			work: sections(func() {
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
			work: sections(func() { p.create(n) }, func() {
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
		if m == batch {
			add, remove = ch.addBatch, ch.removeBatch
		}
		if add == nil || remove == nil {
			return nil
		}
		add()
		with := ch.count()
		remove()
		changes := 0
		return &subject{
			ops: n,
			work: repeated(func() {
				add()
				remove()
			}, &changes),
			check: func() error {
				if err := same("number of entities with the component", with, n); err != nil {
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

// same is an error if what a contender did is not what was asked.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("wrong result: %s is %v, want %v", what, got, want)
	}
	return nil
}
