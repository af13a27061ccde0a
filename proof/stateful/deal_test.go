package stateful_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Deal is the argument of the transaction: entities, and a number that says what is done to them.
type Deal struct {
	A, B    handle.Handle
	N       int64
	Creates bool
	Inner   bool // it is run by another
}

// dealer is what a deal acts through: a Tx, or the naive world's draft of it.
type dealer interface {
	alive(h handle.Handle) bool
	flags(h handle.Handle) world.Flags
	get(h handle.Handle, i int) (int64, bool)
	edit(h handle.Handle, i int, v int64) bool
	set(h handle.Handle, i int, v int64) error
	add(h handle.Handle, i int, v int64) error
	remove(h handle.Handle, i int) error
	exchange(h handle.Handle, b *bundle, take parts, v int64) error
	flag(h handle.Handle, set bool, f world.Flags) error
	create(b *bundle, v int64) (handle.Handle, error)
	copy(h handle.Handle) (handle.Handle, error)
	destroy(h handle.Handle) error
	move(h handle.Handle, to int) error
	send(h handle.Handle, v int64) error
	inner(d Deal) error
}

var errNoDeal = errors.New("no deal")

// dealt is what a transaction was told while it ran.
type dealt struct {
	seen []int64
	made []handle.Handle
	at   int // of made, for the naive world
}

func (x *dealt) tell(v int64, ok bool) {
	if !ok {
		v = -1
	}
	x.seen = append(x.seen, v)
}

// err notes what a call returned.
func (x *dealt) err(m *machine, err error) {
	for code, e := range []error{nil, world.ErrStale, world.ErrMissing, world.ErrIndexes} {
		if errors.Is(err, e) {
			x.tell(int64(code), true)
			return
		}
	}
	m.fail("a call by a transaction: %v", err)
}

// does is the transaction. It tells x what it has seen, and returns the sum of that.
func (m *machine) does(by dealer, d Deal, x *dealt) (int64, error) {
	dice := rand.New(rand.NewPCG(uint64(d.N), 1))
	who := []handle.Handle{d.A, d.B}
	for range 1 + dice.IntN(8) {
		h, i, v, b := who[dice.IntN(len(who))], dice.IntN(partsN), dice.Int64N(1<<20), m.bundles[dice.IntN(len(m.bundles))]
		switch dice.IntN(16) {
		case 0:
			x.err(m, by.set(h, i, v))
		case 1:
			x.err(m, by.add(h, i, v))
		case 2:
			x.err(m, by.remove(h, i))
		case 3:
			x.err(m, by.exchange(h, b, parts(v%32), v))
		case 4:
			x.err(m, by.flag(h, v%2 == 0, world.Flags(v>>3)))
		case 5, 6:
			if !d.Creates {
				continue
			}
			made, err := by.create(b, v)
			if x.err(m, err); err == nil {
				who = append(who, made)
			}
		case 7:
			if !d.Creates {
				continue
			}
			made, err := by.copy(h)
			if x.err(m, err); err == nil {
				who = append(who, made)
			}
		case 8:
			x.err(m, by.destroy(h))
		case 9:
			x.err(m, by.move(h, int(v)%m.options.Shards))
		case 10:
			x.err(m, by.send(h, v))
		case 11, 12:
			x.tell(0, by.edit(h, i, v))
		case 13: // a payment, if both have any
			if from, ok := by.get(d.A, 0); ok {
				if to, ok := by.get(d.B, 0); ok && by.edit(d.A, 0, from-1) {
					x.tell(0, by.edit(d.B, 0, to+1))
				}
			}
		default:
			x.tell(int64(by.flags(h)), by.alive(h))
			for i := range partsN {
				x.tell(by.get(h, i))
			}
		}
	}
	ends := dice.IntN(8)
	if d.Inner {
		ends += 2
	}
	switch ends {
	case 0, 3:
		return 1, errNoDeal
	case 1:
		panic(errAsked)
	case 2, 4, 5:
		if !d.Inner { // what it returns does not count if the other fails
			_ = by.inner(Deal{d.B, d.A, d.N + 1<<40, d.Creates, true})
		}
	}
	sum := int64(0)
	for _, v := range x.seen {
		sum = sum*31 + v
	}
	return sum, nil
}

// registerDeals registers the transaction, and the one that it runs.
func (m *machine) registerDeals() {
	m.dealt = map[int64]*dealt{}
	var running *dealt
	var inner *world.Transaction[Deal, int64]
	inner = world.RegisterTransaction(m.World, "inner", func(tx *world.Tx, d Deal) (int64, error) {
		return m.does(onTx{m, tx, inner, running}, d, running)
	})
	m.deal = world.RegisterTransaction(m.World, "deal", func(tx *world.Tx, d Deal) (int64, error) {
		running = &dealt{}
		m.dealt[d.N] = running
		return m.does(onTx{m, tx, inner, running}, d, running)
	})
}

// newDeal draws a deal between two entities.
func (m *machine) newDeal(a, b handle.Handle, n int64) Deal {
	return Deal{A: a, B: b, N: n, Creates: len(m.naive.entities) < m.most}
}

// dealNow runs the transaction on the idle world.
func (m *machine) dealNow() {
	d := m.newDeal(m.any(), m.any(), m.next())
	for _, h := range []handle.Handle{d.A, d.B} {
		if e := m.naive.alive(h); e != nil {
			e.shard, _ = m.Owner(h)
		}
	}
	var panicked any
	got, err := func() (int64, error) {
		defer func() {
			if v := recover(); v != nil {
				if _, ok := v.(failure); ok {
					panic(v)
				}
				panicked = v
			}
		}()
		return m.deal.Run(m.World, d)
	}()
	o, want := m.makeDeal(d)
	switch o {
	case world.Failed:
		mustBe(m, panicked, any(errAsked), "the panic of a transaction", d.A)
		return
	case world.Refused:
		mustErr(m, err, errNoDeal, "a transaction", d.A)
	default:
		mustErr(m, err, nil, "a transaction", d.A)
		mustBe(m, got, want, "result of a transaction", d.A)
	}
	mustBe(m, panicked, nil, "the panic of a transaction", d.A)
}

// deals requests the transaction, as a port or a system.
func (m *machine) deals(by world.Actor, o order, h handle.Handle) (request, error) {
	d := m.newDeal(h, order{pick: o.pick/7 + o.i}.h(m), o.value)
	if p, ok := by.(*world.Port); ok && o.waits {
		a := new(world.Answer[int64])
		done := promised(a, func(v int64) int64 { return v })
		err := m.deal.Send(p, d, a)
		return request{step: deals, moves: true, done: done, do: func() (o world.Outcome) {
			o, done.answer = m.makeDeal(d)
			return o
		}}, err
	}
	return request{step: deals, moves: true, do: func() world.Outcome {
		o, _ := m.makeDeal(d)
		return o
	}}, m.deal.Call(by, d)
}

// makeDeal does in the naive world what a transaction has done, and returns its outcome and result.
func (m *machine) makeDeal(d Deal) (o world.Outcome, sum int64) {
	was := m.dealt[d.N]
	if was == nil {
		m.fail("a transaction did not run: %+v", d)
	}
	delete(m.dealt, d.N)
	is := &draft{dealt: dealt{made: was.made}, machine: m, all: map[handle.Handle]*drafted{}}
	m.total.deals[0]++
	sum, err, panicked := is.run(d)
	switch {
	case panicked:
		o, sum = world.Failed, 0
	case err != nil || is.fault != nil:
		o, sum = world.Refused, 0
	default:
		o = world.Applied
		is.commit()
		m.total.deals[1]++
	}
	if !slices.Equal(is.seen, was.seen) {
		m.fail("a transaction, %+v, was told %v; want %v", d, was.seen, is.seen)
	}
	return o, sum
}

// draft is what a transaction has written in the naive world, and not made yet.
type draft struct {
	*machine
	dealt
	all   map[handle.Handle]*drafted
	hits  []Deal // messages: A gets N
	fault error
}

// drafted is an entity that a transaction has written: a copy.
type drafted struct {
	entity
	of      *entity // nil: the transaction creates it
	written parts
}

func (x *draft) run(d Deal) (sum int64, err error, panicked bool) {
	defer func() {
		if v := recover(); v != nil {
			if v != any(errAsked) {
				panic(v)
			}
			panicked = true
		}
	}()
	sum, err = x.does(x, d, &x.dealt)
	return
}

// read returns an entity as the transaction has left it, or nil.
func (x *draft) read(h handle.Handle) *entity {
	if e := x.all[h]; e != nil {
		return &e.entity
	}
	if e := x.naive.alive(h); e != nil && !(e.fresh && e.marked) {
		return e
	}
	return nil // or created and marked by this refresh: it was never alive
}

// write is read to write; nil for one that is marked.
func (x *draft) write(h handle.Handle) *entity {
	e := x.all[h]
	if e == nil {
		of := x.naive.living(h)
		if of == nil {
			return nil
		}
		e = &drafted{entity: *of, of: of}
		x.all[h] = e
	}
	if e.marked {
		return nil
	}
	return &e.entity
}

// wrote notes which components were written, and returns what the call does.
func (x *draft) wrote(h handle.Handle, p parts, o world.Outcome) error {
	if e := x.all[h]; e != nil && o == world.Applied {
		e.written |= p
	}
	return errorOf(o)
}

func (x *draft) alive(h handle.Handle) bool { return x.read(h) != nil }

func (x *draft) flags(h handle.Handle) world.Flags {
	if e := x.read(h); e != nil {
		return e.flags
	}
	return 0
}

func (x *draft) get(h handle.Handle, i int) (int64, bool) {
	if e := x.read(h); e != nil && e.has.has(i) {
		return e.value[i], true
	}
	return 0, false
}

func (x *draft) edit(h handle.Handle, i int, v int64) bool { return x.set(h, i, v) == nil }

func (x *draft) set(h handle.Handle, i int, v int64) error {
	return x.wrote(h, 1<<i, x.naive.set(x.write(h), i, v))
}

func (x *draft) add(h handle.Handle, i int, v int64) error {
	return x.wrote(h, 1<<i, x.naive.add(x.write(h), i, v))
}

func (x *draft) remove(h handle.Handle, i int) error {
	return errorOf(x.naive.remove(x.write(h), i))
}

func (x *draft) exchange(h handle.Handle, b *bundle, take parts, v int64) error {
	return x.wrote(h, b.parts, x.naive.exchange(x.write(h), b.parts, take, v))
}

func (x *draft) flag(h handle.Handle, set bool, f world.Flags) error {
	if set {
		return errorOf(x.naive.flag(x.write(h), f, 0))
	}
	return errorOf(x.naive.flag(x.write(h), 0, f))
}

// create takes the handle that the Tx gave.
func (x *draft) create(b *bundle, v int64) (handle.Handle, error) { return x.make(b.parts, alike(v)) }

func (x *draft) make(has parts, v values) (handle.Handle, error) {
	if x.at == len(x.made) {
		x.fail("a transaction has created %v; want more", x.made)
	}
	h := x.made[x.at]
	if x.at++; h.IsNone() {
		return h, world.ErrIndexes
	}
	if x.naive.given[h] || x.all[h] != nil {
		x.fail("a transaction creates %v, which was given before", h)
	}
	x.all[h] = &drafted{entity: entity{has: has, value: v, shard: nowhere, to: nowhere}}
	return h, nil
}

func (x *draft) copy(h handle.Handle) (handle.Handle, error) {
	e := x.write(h)
	if e == nil {
		return 0, world.ErrStale
	}
	return x.make(e.has, e.value)
}

// destroy has no error for one that the transaction has destroyed.
func (x *draft) destroy(h handle.Handle) error {
	if e := x.all[h]; e != nil && e.marked {
		return nil
	}
	return errorOf(x.naive.destroy(x.write(h)))
}

func (x *draft) move(h handle.Handle, to int) error { return errorOf(x.naive.move(x.write(h), to)) }

func (x *draft) send(h handle.Handle, v int64) error {
	e := x.read(h)
	if e == nil || e.marked {
		return world.ErrStale
	}
	x.hits = append(x.hits, Deal{A: h, N: v})
	return nil
}

func (x *draft) inner(d Deal) error {
	_, err := x.does(x, d, &x.dealt)
	if err != nil && x.fault == nil {
		x.fault = err
	}
	return err
}

// commit makes what the transaction has written.
func (x *draft) commit() {
	n := x.naive
	for _, h := range slices.Sorted(maps.Keys(x.all)) { // maps have no order
		e := x.all[h]
		if e.of == nil {
			x.born(h, e.has, e.value, false)
			was := n.entities[h]
			was.flags, was.marked, was.to = e.flags, e.marked, e.to
			e.of = was
		} else {
			was := e.of
			stored, came := was.stored|e.written&was.has&e.has, was.came
			if was.has != e.has {
				came = n.tick
			}
			*was = e.entity
			was.stored, was.came = stored, came
		}
		if of := e.of; !n.within && of.to != nowhere { // at once
			if !of.marked {
				of.misrouted = true
				n.arrive(of, of.to)
			}
			of.to = nowhere
		}
	}
	for _, s := range x.hits {
		n.hits[s.A] = append(n.hits[s.A], s.N)
	}
}

// onTx is a Tx as a dealer.
type onTx struct {
	*machine
	*world.Tx
	other *world.Transaction[Deal, int64]
	notes *dealt
}

func (x onTx) alive(h handle.Handle) bool { return x.Tx.Alive(h) }

func (x onTx) flags(h handle.Handle) world.Flags { return world.FlagsOf(x.Tx, h) }

func (x onTx) get(h handle.Handle, i int) (int64, bool) {
	v, ok := x.parts[i].taken(x.Tx, h)
	mustBe(x.machine, x.Tx.Has(h, x.parts[i].component), ok, "Has by a transaction", h)
	return v, ok
}

func (x onTx) edit(h handle.Handle, i int, v int64) bool { return x.parts[i].edit(x.Tx, h, v) }

func (x onTx) set(h handle.Handle, i int, v int64) error { return x.parts[i].set(x.Tx, h, v) }

func (x onTx) add(h handle.Handle, i int, v int64) error { return x.parts[i].add(x.Tx, h, v) }

func (x onTx) remove(h handle.Handle, i int) error { return x.parts[i].remove(x.Tx, h) }

func (x onTx) exchange(h handle.Handle, b *bundle, take parts, v int64) error {
	return b.exchange(x.Tx, h, v, x.these(take)...)
}

func (x onTx) flag(h handle.Handle, set bool, f world.Flags) error {
	if set {
		return world.AddFlags(x.Tx, h, f)
	}
	return world.RemoveFlags(x.Tx, h, f)
}

func (x onTx) create(b *bundle, v int64) (handle.Handle, error) {
	h, err := b.create(x.Tx, v)
	if x.fullIndexes(err) {
		h = handle.None
	}
	x.notes.made = append(x.notes.made, h)
	return h, err
}

func (x onTx) copy(h handle.Handle) (handle.Handle, error) {
	twin, err := world.Copy(x.Tx, h)
	if errors.Is(err, world.ErrStale) {
		return twin, err
	}
	if x.fullIndexes(err) {
		twin = handle.None
	}
	x.notes.made = append(x.notes.made, twin)
	return twin, err
}

func (x onTx) destroy(h handle.Handle) error { return x.Tx.Destroy(h) }

func (x onTx) move(h handle.Handle, to int) error { return world.Move(x.Tx, h, to) }

func (x onTx) send(h handle.Handle, v int64) error { return x.hit.Send(x.Tx, h, Hit{v}) }

func (x onTx) inner(d Deal) error {
	_, err := x.other.Run(x.Tx, d)
	return err
}
