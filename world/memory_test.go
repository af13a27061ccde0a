package world_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Owner is a component, and a message, that keeps something alive.
type Owner struct{ P *[1 << 10]byte }

// estate makes worlds of Owners, and knows what they own.
type estate struct {
	*fixture
	owners *world.Bundle[owning]
	owner  *world.Component[Owner]
	letter *world.Message[Owner]
}

type owning struct {
	Owner
	Position
}

func newEstate(t *testing.T) *estate {
	f := newFixture(t, world.Options{Shards: 2})
	return &estate{
		fixture: f, owner: world.Register[Owner](f.World, "owner"),
		letter: world.RegisterMessage[Owner](f.World, "letter"), owners: world.NewBundle[owning](f.World),
	}
}

// own makes something to own, and a way to see whether it is still there.
func own() (Owner, weak.Pointer[[1 << 10]byte]) {
	p := new([1 << 10]byte)
	return Owner{p}, weak.Make(p)
}

// mustBe collects garbage and checks what is there.
func (e *estate) mustBe(there bool, what ...weak.Pointer[[1 << 10]byte]) {
	e.t.Helper()
	for range 2 {
		runtime.GC()
	}
	for i, w := range what {
		require.Equal(e.t, there, w.Value() != nil, "%d of %d", i, len(what))
	}
}

// TestMemoryOfTheDead destroys some of many entities: what their components
// pointed to is collected, whichever rows they had.
func TestMemoryOfTheDead(t *testing.T) {
	const n = 400
	for name, dies := range map[string]func(i int) bool{
		"all":    func(int) bool { return true },
		"first":  func(i int) bool { return i == 0 },
		"last":   func(i int) bool { return i == n-1 },
		"front":  func(i int) bool { return i < n/2 },
		"back":   func(i int) bool { return i >= n/2 },
		"every3": func(i int) bool { return i%3 == 0 },
	} {
		for _, kind := range []string{"World", "Port"} {
			t.Run(name+" by "+kind, func(t *testing.T) {
				e := newEstate(t)
				var living, dead []weak.Pointer[[1 << 10]byte]
				var doomed []handle.Handle
				e.holder(kind, func(by world.Holder) {
					for i := range n {
						o, w := own()
						h, err := e.owners.Create(by, owning{Owner: o})
						require.NoError(t, err)
						if dies(i) {
							doomed, dead = append(doomed, h), append(dead, w)
						} else {
							living = append(living, w)
						}
					}
				})
				e.mustBe(true, dead...)
				for _, h := range doomed {
					require.True(t, e.Destroy(h))
				}
				e.mustBe(true, dead...)
				e.Refresh()
				e.mustBe(false, dead...)
				e.mustBe(true, living...)
				runtime.KeepAlive(e)
			})
		}
	}
}

// TestMemoryOfRequests sends values that point somewhere: when they are applied,
// nothing but the component keeps them, and nothing at all what was overwritten,
// read, or came too late.
func TestMemoryOfRequests(t *testing.T) {
	e := newEstate(t)
	p := e.port()
	first, firstSeen := own()
	h, err := e.owners.Create(e.World, owning{Owner: first})
	require.NoError(t, err)

	stored, storedSeen := own()
	tooLate, tooLateSeen := own()
	letter, letterSeen := own()
	require.NoError(t, e.owner.Set(p, h, stored))
	require.NoError(t, e.owner.Set(p, h+1, tooLate))
	require.NoError(t, e.letter.Send(p, h, letter))
	first, stored, tooLate, letter = Owner{}, Owner{}, Owner{}, Owner{}
	e.mustBe(true, firstSeen, storedSeen, tooLateSeen, letterSeen)

	e.Refresh()
	e.mustBe(false, firstSeen, tooLateSeen)
	e.mustBe(true, storedSeen, letterSeen)

	e.Refresh() // the letter's tick is over
	e.mustBe(false, letterSeen)
	e.mustBe(true, storedSeen)

	require.NoError(t, e.owner.Set(e.World, h, Owner{}))
	e.mustBe(false, storedSeen)
	runtime.KeepAlive(e)
	_, _, _, _ = first, stored, tooLate, letter
}

// TestMemoryOfClear clears a world.
func TestMemoryOfClear(t *testing.T) {
	e := newEstate(t)
	var seen []weak.Pointer[[1 << 10]byte]
	require.NoError(t, e.owners.CreateN(e.World, 1000, func(_ int, v *owning) {
		o, w := own()
		v.Owner, seen = o, append(seen, w)
	}))
	e.mustBe(true, seen...)
	e.Clear()
	e.mustBe(false, seen...)
	runtime.KeepAlive(e)
}
