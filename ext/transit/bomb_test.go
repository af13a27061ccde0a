package transit_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Maps is a message of which a byte can be 8 KB when it is read.
type Maps struct{ Rows [][1024]uint64 }

// TestMailBombs brings items of 20 KB whose bodies would take 156 MB each.
func TestMailBombs(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1})
	x := &town{World: w, roads: transit.New(w, "roads", transit.Options{World: 1}), s: scheduler.New(w, scheduler.Options{})}
	m := transit.RegisterMail(x.roads, world.RegisterMessage[Maps](w, "maps"))
	const n = 20000
	body := "\x99" + string([]byte{n >> 8, n & 255}) + strings.Repeat("\x80", n)
	item := transit.ItemOf("maps", m.Shape(), 1, 1, string([]byte{byte(len(body)), byte(len(body) >> 8), 0, 0})+body)
	before := known(t, x, 2)
	p := transit.Packet{From: 2, To: 1, First: 1, Before: before.Chain}
	for range 10 {
		p.Items = transit.AppendItem(p.Items, item)
	}
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	answers, err := ask(t, x, x.roads.Arriving(), p)
	runtime.ReadMemStats(&b)
	require.NoError(t, err)
	require.EqualValues(t, 1, answers.Last, "a transaction decides no more of these")
	require.Equal(t, string([]byte{1, byte(transit.Malformed)}), answers.Refused)
	require.Less(t, b.TotalAlloc-a.TotalAlloc, uint64(8<<20))
	x.step(t)

	require.ErrorIs(t, m.Tell(w, 0, transit.RefOf(2, 1), Maps{make([][1024]uint64, 300)}), transit.ErrTooLarge)
	require.NoError(t, m.Tell(w, 0, transit.RefOf(2, 1), Maps{make([][1024]uint64, 3)}))
	require.Equal(t, 1, x.roads.Channel(2).Items)
}

type (
	kind uint8
	gift struct {
		Kind kind
		More []kind
	}
)

// TestMailConstants sends a message with constants of an enum between two programs. If they name other
// numbers, it comes back.
func TestMailConstants(t *testing.T) {
	shapes := map[uint64]string{}
	for name, names := range map[string]map[kind]string{"none": nil, "all": {0: "Gold", 1: "Wood"}, "others": {0: "Wood", 1: "Gold"}} {
		codecs := new(state.Codecs)
		if names != nil {
			state.RegisterEnum(codecs, names)
		}
		w := world.MustNew(world.Options{})
		r := transit.New(w, "roads", transit.Options{World: 1, Codecs: codecs})
		m := transit.RegisterMail(r, world.RegisterMessage[gift](w, "gift"))
		require.Empty(t, shapes[m.Shape()], name)
		shapes[m.Shape()] = name
	}
}
