package world_test

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Owner is a component, and a message, that keeps something alive in every way a
// Go value can.
type Owner struct {
	Pointer *[1 << 10]byte
	Text    string
	Slice   []byte
	Map     map[int]*[1 << 10]byte
	Any     any
	Func    func() byte
	Array   [2]struct{ P *[1 << 10]byte }
}

// traces tell whether each of what an Owner owns is still there.
type traces [7]func() bool

// own makes something to own, and a way to see whether it is still there.
func own() (Owner, traces) {
	block := func() (*[1 << 10]byte, func() bool) {
		p := new([1 << 10]byte)
		w := weak.Make(p)
		return p, func() bool { return w.Value() != nil }
	}
	var o Owner
	var t traces
	o.Pointer, t[0] = block()
	o.Text = strings.Repeat("x", 1<<10)
	text := weak.Make(unsafe.StringData(o.Text))
	t[1] = func() bool { return text.Value() != nil }
	o.Slice = make([]byte, 1<<10)
	slice := weak.Make(&o.Slice[0])
	t[2] = func() bool { return slice.Value() != nil }
	o.Map = map[int]*[1 << 10]byte{}
	o.Map[1], t[3] = block()
	o.Any, t[4] = block()
	inner, there := block()
	o.Func, t[5] = func() byte { return inner[0] }, there
	o.Array[1].P, t[6] = block()
	return o, t
}

// estate is a world of Owners.
type estate struct {
	*fixture
	owners *world.Bundle[owning]
	rich   *world.Bundle[rich]
	owner  *world.Component[Owner]
	letter *world.Message[Owner]
	all    *world.Query // who owns
	w      *world.Writer[Owner]
}

// Bundles of those who own something.
type (
	owning struct {
		Owner
		Position
	}
	rich struct {
		Owner
		Health
		Name
	}
)

func newEstate(t *testing.T, keepOrder bool) *estate {
	f := newFixture(t, world.Options{Shards: 2, KeepOrder: keepOrder})
	e := &estate{
		fixture: f, owner: world.Register[Owner](f.World, "owner"),
		letter: world.RegisterMessage[Owner](f.World, "letter"), owners: world.NewBundle[owning](f.World), rich: world.NewBundle[rich](f.World),
		w: world.Write[Owner](f.World),
	}
	e.all = f.Query(e.w)
	return e
}

// settle creates n owners by an actor.
func (e *estate) settle(by world.Actor, n int) (all []handle.Handle, what []traces) {
	e.t.Helper()
	for range n {
		o, t := own()
		h, err := e.owners.Create(by, owning{Owner: o})
		require.NoError(e.t, err)
		all, what = append(all, h), append(what, t)
	}
	return all, what
}

// mustBe collects garbage and checks what is there, and all of it.
func (e *estate) mustBe(there bool, what ...traces) {
	e.t.Helper()
	for range 2 { // a collection of a map or func may leave what it held to the next
		runtime.GC()
	}
	for i, t := range what {
		for kind, still := range t {
			require.Equal(e.t, there, still(), "%s of %d of %d", [...]string{"pointer", "text", "slice", "map", "any", "func", "array"}[kind], i, len(what))
		}
	}
}
