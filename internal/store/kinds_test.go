package store_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// described is the Handler of requests that it describes.
type described struct{ store.Description }

func (x described) Describe() store.Description { return x.Description }

func (described) Apply(*store.Shard, handle.Handle, slots.Loc, mem.Pointer) queue.Outcome {
	return queue.Applied
}

// question is a payload of which a part is what was asked.
type question struct {
	Asked  uint32
	Answer *string
}

// parted is the Handler of questions.
type parted struct{ described }

func (parted) PartType() reflect.Type { return reflect.TypeFor[uint32]() }

func (parted) Part(p mem.Pointer) mem.Cells { return mem.CellOf(&mem.As[question](p).Asked) }

func (parted) Complete(p mem.Pointer) { mem.As[question](p).Answer = new(string) }

// TestResend sends requests again that were seen somewhere, and is refused those that nobody
// can have sent.
func TestResend(t *testing.T) {
	space := store.NewSpace(4, handle.IndexMax, handle.VersionMax, handle.VersionMax) // three shards
	store.NewKind(space, mem.TypeOf[int64](), described{store.Description{Name: "message"}})
	store.NewKind(space, mem.TypeOf[int64](), described{store.Description{Name: "shard message", Direct: true}})
	store.NewKind(space, mem.TypeOf[int64](), doing{}) // creates
	store.NewKind(space, mem.TypeOf[question](), parted{described{store.Description{Name: "question"}}})
	store.NewKind(space, mem.TypeOf[int64](), described{store.Description{Name: "ask", Asks: true}})
	const destroy, move, message, direct, create, ask, asks, beyond = 0, 1, 2, 3, 4, 5, 6, 7
	k := space.Kinds()
	require.Equal(t, beyond, k.Len())
	for i, name := range []string{"destroy", "move", "message", "shard message", "deed", "question", "ask"} {
		d, _ := k.Describe(i)
		require.Equal(t, name, d.Name)
	}
	_, part := k.Describe(ask)
	require.Equal(t, reflect.TypeFor[uint32](), part)

	const kind, how, where, nothing = "no such kind", "no such requests", "no such shard", "changes nothing"
	l := queue.New(space.Registry, 100, 1<<20)
	for _, test := range []struct {
		kind  int
		flags queue.Flags
		err   string
	}{
		{-1, 0, kind}, {beyond, 0, kind},
		{destroy, 0, ""}, {destroy, 1, how}, {destroy, queue.Create, how}, {destroy, queue.To(1), how},
		{move, 0, ""}, {move, 2, ""}, {move, 3, where},
		{message, 0, ""}, {message, 1, how}, {message, queue.To(0), how},
		{direct, 0, ""}, {direct, 1, how}, {direct, queue.To(0), ""}, {direct, queue.To(2), ""}, {direct, queue.To(3), where},
		{create, 0, how}, {create, queue.Create, ""}, {create, queue.Create | 2, ""}, {create, queue.Create | 3, where},
		{ask, 0, ""}, {asks, 0, nothing},
	} {
		before := l.Ready()
		cells, err := k.Resend(l, test.kind, test.flags, 5, 0)
		l.Publish()
		if test.err != "" {
			require.ErrorContains(t, err, test.err, "%v", test)
			require.Equal(t, before, l.Ready(), "%v", test)
			continue
		}
		require.NoError(t, err, "%v", test)
		require.Equal(t, before+1, l.Ready(), "%v", test)
		if cells.Len > 0 && cells.Type == reflect.TypeFor[uint32]() {
			*mem.As[uint32](cells.Part(0)) = 7
		}
	}
	n := 0
	l.Look(0, func(r queue.PendingRequest) {
		n++
		require.Equal(t, handle.Handle(5), r.Handle)
		require.Equal(t, r.Kind() == create, r.IsCreate())
		switch cells := k.Payload(r); r.Kind() {
		case destroy, move:
			require.Zero(t, cells)
		case ask:
			require.Equal(t, uint32(7), *mem.As[uint32](cells.Part(0)))
			require.NotNil(t, mem.As[question](r.Payload()).Answer, "it is complete")
		default:
			require.Equal(t, reflect.TypeFor[int64](), cells.Type)
		}
	})
	require.Equal(t, l.Ready(), n)
}
