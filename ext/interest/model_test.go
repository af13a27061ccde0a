package interest_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// update makes an Update, and returns what was told, by client.
func update(s *interest.Clients, f *world.Frame, workers int) map[*interest.Client]interest.Packet {
	var mu sync.Mutex
	told := map[*interest.Client]interest.Packet{}
	s.Update(f, workers, func(v *interest.Client, p *interest.Packet) {
		mu.Lock()
		defer mu.Unlock()
		told[v] = clone(p)
	})
	return told
}

// walk is a world in which all sorts of things happen at random, and what clients make of it.
type walk struct {
	*field
	r       *rand.Rand
	all     []handle.Handle
	options interest.Options
	sets    []*interest.Clients // which do the same, by other numbers of workers
	users   []*user
	number  int
}

// user is a client, and what its connection does.
type user struct {
	*client
	number  int
	views   []*interest.Client // in each set
	sees    map[handle.Handle]map[int]string
	sent    []interest.Packet // that are under way
	loss    bool
	closed  bool
	waiting int
}

// workers are how many each set of a walk has.
var workers = []int{1, 2, 5}

// TestModel compares what clients know with a look at all entities.
func TestModel(t *testing.T) {
	for seed := range uint64(iterations(12)) {
		r := newRand(t, seed)
		x := &walk{field: newField(t, world.Options{Shards: 1 + r.IntN(4), Seed: seed}), r: r}
		x.options = interest.Options{
			Hide: func(f *world.Frame) func(*interest.Client, handle.Handle) bool {
				return func(v *interest.Client, h handle.Handle) bool {
					return f.Flags(h)&hidden != 0 && v.Options().Entity != h
				}
			},
			Include: func(f *world.Frame) func([]handle.Handle, *interest.Client) []handle.Handle {
				return func(dst []handle.Handle, v *interest.Client) []handle.Handle {
					for i := range 40 { // by chance the dead, some twice, and those that are near, too
						at := v.User().(int)*7 + i*i%23
						dst = append(dst, x.all[at%len(x.all)])
					}
					return append(dst, handle.None)
				}
			},
			Weight: func(f *world.Frame) func(handle.Handle) int {
				level := world.Read[Level](f)
				return func(h handle.Handle) int { return level.Get(h).Number*100 - 100 }
			},
		}
		if seed%2 == 0 {
			x.options.Include = nil
		}
		for range workers {
			x.sets = append(x.sets, x.newSet(x.options))
		}
		for range 50 + r.IntN(150) {
			x.create()
		}
		for range 3 + r.IntN(12) {
			x.open(seed%3 == 0)
		}
		x.run()
	}
}

func (x *walk) place() Position {
	if x.r.IntN(20) == 0 {
		return Position{math.NaN(), 3}
	}
	return Position{x.r.Float64()*120 - 10, x.r.Float64()*120 - 10}
}

func (x *walk) create() {
	var h handle.Handle
	var err error
	if x.r.IntN(10) == 0 {
		h, err = x.things.Create(x.World, Thing{Level{x.r.IntN(4)}})
	} else {
		h, err = x.units.Create(x.World, Unit{x.place(), Level{x.r.IntN(4)}})
	}
	require.NoError(x.t, err)
	x.all = append(x.all, h)
}

func (x *walk) any() handle.Handle { return x.all[x.r.IntN(len(x.all))] }

func (x *walk) viewer(number int) interest.ClientOptions {
	v := interest.ClientOptions{Entity: x.any(), Radius: x.r.Float64() * 40, User: number}
	if x.r.IntN(2) == 0 {
		v.Margin = x.r.Float64() * 10
	}
	if x.r.IntN(4) == 0 {
		v.Entity, v.At = handle.None, near.Point{X: x.r.Float64() * 100, Y: 50}
	}
	if x.r.IntN(15) == 0 {
		v.Radius = math.Inf(1)
	}
	if x.r.IntN(2) == 0 {
		v.Bytes = 1 + x.r.IntN(20)*x.r.IntN(20)
	}
	return v
}

func (x *walk) open(lossy bool) {
	v := x.viewer(x.number)
	u := &user{client: newClient(x.t), number: x.number, sees: map[handle.Handle]map[int]string{}}
	x.number++
	if lossy && x.r.IntN(4) > 0 {
		v.Unacked, u.loss = 1+x.r.IntN(5), true
	}
	for _, s := range x.sets {
		u.views = append(u.views, s.Open(v))
	}
	x.users = append(x.users, u)
}

func (x *walk) run() {
	for i := range 60 {
		x.change()
		calm := i%15 > 9 // in the end of which all is told
		if !calm && x.r.IntN(3) == 0 {
			x.Refresh()
		}
		x.update(calm)
	}
	for x.update(true) {
	}
	for _, u := range x.users {
		if !u.closed {
			require.Equal(x.t, u.sees, u.has())
			require.Zero(x.t, u.waiting)
		}
	}
}

// change changes the world, and the clients.
func (x *walk) change() {
	pos, level := world.Write[Position](x.World), world.Write[Level](x.World)
	for range x.r.IntN(60) {
		h := x.any()
		switch x.r.IntN(12) {
		case 0:
			x.create()
		case 1:
			x.Destroy(h)
		case 2:
			if p := pos.Get(h); p != nil {
				*p = x.place()
			}
		case 3:
			_ = world.AddFlags(x.World, h, hidden)
		case 4:
			_ = world.RemoveFlags(x.World, h, hidden)
		case 5:
			_ = x.name.Add(x.World, h, Name{"somebody"[:x.r.IntN(8)]})
		case 6:
			_ = x.name.Remove(x.World, h)
		case 7:
			_ = x.tag.Add(x.World, h, Tag{})
		case 8:
			_ = x.tag.Remove(x.World, h)
		case 9:
			if l := level.Get(h); l != nil {
				l.Number = x.r.IntN(4)
			}
		case 10:
			_ = world.Move(x.World, h, x.r.IntN(x.Shards()))
		default:
			if p := pos.Get(h); p != nil {
				p.X, p.Y = p.X+x.r.Float64()*4-2, p.Y+x.r.Float64()*4-2
			}
		}
	}
	switch u := x.users[x.r.IntN(len(x.users))]; x.r.IntN(6) {
	case 0:
		x.open(u.loss)
	case 1:
		u.closed = true
		for _, v := range u.views {
			v.Close()
		}
	case 2:
		to := x.viewer(u.number)
		for _, v := range u.views {
			v.Change(to)
		}
	}
}

// update makes an Update of each set, and checks it. It reports whether somebody was told
// something, or waits.
func (x *walk) update(calm bool) (more bool) {
	f := x.now()
	defer f.Release()
	told := update(x.sets[0], f, workers[0])
	for i, s := range x.sets[1:] {
		same := update(s, f, workers[i+1])
		require.Len(x.t, same, len(told))
		for _, u := range x.users {
			p, ok := told[u.views[0]]
			q, ok2 := same[u.views[i+1]]
			require.Equal(x.t, ok, ok2)
			if !reflect.DeepEqual(p, q) {
				require.Equal(x.t, p, q, "with %d workers", workers[i+1])
			}
		}
	}
	sees := look(f, x.options)
	for _, u := range x.users {
		p, ok := told[u.views[0]]
		if u.closed {
			require.False(x.t, ok)
			continue
		}
		u.sees = sees.by(u.views[0], u.sees)
		if ok {
			x.check(u, sees, &p)
		}
		u.tell(x, &p, ok, calm)
		more = more || ok || len(u.sent) > 0 || u.waiting > 0
	}
	return more
}

// check checks a packet by itself.
func (x *walk) check(u *user, sees *sees, p *interest.Packet) {
	require.NotZero(x.t, len(p.Leaves)+len(p.Rows))
	for _, l := range p.Leaves {
		_, seen := u.sees[l.Handle]
		_, alive := sees.all[l.Handle]
		if seen || l.Gone == alive {
			require.Fail(x.t, "a leave is wrong", l)
		}
	}
	size, last := interest.LeaveBytes*len(p.Leaves), 0
	for _, r := range p.Rows {
		is, seen := u.sees[r.Handle]
		values := split(x.t, r.Columns, r.Bytes)
		for c, v := range values {
			seen = seen && is[c] == v
		}
		if r.Enter {
			seen = seen && len(is) == len(values)
			size += 8
		}
		if !seen {
			require.Fail(x.t, "a row is wrong", r)
		}
		last = interest.RowBytes + len(r.Bytes)
		size += last
	}
	if most := u.views[0].Options().Bytes; most > 0 && len(p.Rows) > 1 {
		require.Less(x.t, size-last-8, most)
	}
	if !u.loss {
		require.LessOrEqual(x.t, p.Waiting, len(u.sees))
	}
}

// tell brings a packet to the client, if it does not get lost.
func (u *user) tell(x *walk, p *interest.Packet, ok, calm bool) {
	bound := u.views[0].Options().Bytes > 0
	if !u.loss {
		before := map[handle.Handle]map[int]string{}
		for h, values := range u.has() {
			before[h] = maps.Clone(values)
		}
		if ok {
			u.apply(p, false)
			u.waiting = p.Waiting
			if !bound {
				for _, r := range p.Rows {
					if !r.Enter && maps.Equal(before[r.Handle], u.sees[r.Handle]) {
						require.Fail(x.t, "nothing has changed", r)
					}
				}
			}
		} else {
			u.waiting = 0
		}
		has := u.has()
		for h := range has {
			if u.sees[h] == nil {
				require.Fail(x.t, "the client has somebody who is not seen", h)
			}
		}
		require.Equal(x.t, len(u.sees), len(has)+u.waiting, "who was told of and who waits")
		if (!bound || !ok) && !reflect.DeepEqual(u.sees, has) {
			require.Equal(x.t, u.sees, has)
		}
		return
	}
	if ok {
		u.sent = append(u.sent, *p)
		u.waiting = p.Waiting
	}
	u.travel(x, calm)
}

// travel lets packets and acknowledgements arrive, or get lost.
func (u *user) travel(x *walk, calm bool) {
	for len(u.sent) > 0 && (calm || x.r.IntN(3) > 0) {
		p := u.sent[0]
		u.sent = u.sent[1:]
		switch {
		case !calm && x.r.IntN(6) == 0: // the last one is lost, and somebody finds out
			for _, v := range u.views {
				v.Lost(p.Number)
			}
			if x.r.IntN(2) == 0 && p.Number > u.last { // or thought so only
				u.apply(&p, true)
			}
		case !calm && x.r.IntN(6) == 0 && len(u.sent) > 0: // lost, as the next one tells
		case !calm && x.r.IntN(6) == 0 && len(u.sent) > 0: // the acknowledgement is lost
			u.apply(&p, true)
		default:
			u.apply(&p, true)
			for _, v := range u.views {
				v.Ack(p.Number)
				v.Ack(p.Number + 1000) // nonsense
				v.Ack(0)
			}
		}
	}
}
