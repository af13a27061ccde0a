package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// newBodyWorld returns a world with one entity.
func newBodyWorld(t *testing.T) *world.World {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Body](w, "body")
	_, err := world.NewBundle[Plain](w).Create(w, Plain{})
	require.NoError(t, err)
	return w
}

// TestEmptyLog plays a log without ticks, and another after it. The world was changed between them,
// and the replay does not do that: the first tick shows it.
func TestEmptyLog(t *testing.T) {
	w := newBodyWorld(t)
	var logs [2]bytes.Buffer
	for i := range logs {
		r, err := inputlog.NewRecorder(w, &logs[i], inputlog.Options{NoHash: true})
		require.NoError(t, err)
		if i == 1 {
			w.Refresh()
		}
		require.NoError(t, r.Close())
		for ch := range w.Query(world.Write[Body](w)).Chunks() {
			world.Write[Body](w).Slice(ch)[0].Sum++
		}
	}
	first, err := inputlog.Open(&logs[0])
	require.NoError(t, err)
	next, err := inputlog.Open(&logs[1])
	require.NoError(t, err)
	p, err := first.Play(newBodyWorld(t), nil)
	require.NoError(t, err)
	p.Then(next)
	require.False(t, p.Next())
	require.ErrorIs(t, p.Err(), inputlog.ErrDiffers)
}

// TestShortLogs plays logs of one tick each, as one. What a tick of one has done wrong, the first
// tick of the next shows.
func TestShortLogs(t *testing.T) {
	const ticks = 10
	w := newBodyWorld(t)
	var logs [ticks]bytes.Buffer
	for i := range logs {
		r, err := inputlog.NewRecorder(w, &logs[i], inputlog.Options{NoHash: true})
		require.NoError(t, err)
		w.Refresh()
		require.NoError(t, r.Close())
	}
	play := func(change int) (made int, err error) {
		w := newBodyWorld(t)
		engine.Of(w).Lenient()
		var p *inputlog.Player
		for i := range logs {
			l, err := inputlog.Open(bytes.NewReader(logs[i].Bytes()))
			require.NoError(t, err)
			if i > 0 {
				p.Then(l)
				continue
			}
			p, err = l.Play(w, nil)
			require.NoError(t, err)
		}
		for ; p.Next(); made++ {
			if made == change {
				for ch := range w.Query(world.Write[Body](w)).Chunks() {
					world.Write[Body](w).Slice(ch)[0].Sum++
				}
			}
			require.NoError(t, p.Make(nil)) // it was a Refresh
		}
		return made, p.Err()
	}
	made, err := play(-1)
	require.NoError(t, err)
	require.Equal(t, ticks, made)
	for _, change := range []int{0, 3, 8} {
		made, err = play(change)
		require.ErrorIs(t, err, inputlog.ErrDiffers)
		require.Equal(t, change+1, made)
	}
}

// fickle is a resource that needs a codec.
type fickle struct {
	N     *int
	Never func()
}

func fickles(fails func(n int)) *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[fickle]{Append: func(dst []byte, v *fickle) []byte {
		fails(*v.N)
		return append(dst, byte(*v.N))
	}})
	return c
}

// TestCodecFailsInHash records and plays a world with a resource that cannot be hashed for a while,
// because its codec panics, or at all, because it has none. Recording goes on, the same world plays
// the log to its end, and a difference in anything else is noticed at once, then and later. So is a
// codec that fails in one of both.
func TestCodecFailsInHash(t *testing.T) {
	panics := func(n int) {
		if n == 5 {
			panic("five")
		}
	}
	never := func(int) {}
	const ticks = 20
	type game struct {
		*world.World
		body     *world.Component[Body]
		resource *world.Resource[fickle]
	}
	start := func() game {
		w := world.MustNew(world.Options{Shards: 1})
		engine.Of(w).Lenient() // what is done before a tick is done in the replay, too
		g := game{w, world.Register[Body](w, "body"), world.RegisterResource(w, "fickle", fickle{N: new(int)})}
		_, err := world.NewBundle[Plain](w).Create(w, Plain{})
		require.NoError(t, err)
		return g
	}
	before := func(g game, i, change int) {
		g.resource.Set(fickle{N: &i})
		if i == change {
			for ch := range g.Query(world.Write[Body](g.World)).Chunks() {
				world.Write[Body](g.World).Slice(ch)[0].Sum++
			}
		}
	}
	record := func(c *state.Codecs) *bytes.Buffer {
		g, log := start(), new(bytes.Buffer)
		r, err := inputlog.NewRecorder(g.World, log, inputlog.Options{Codecs: c, NoHash: true})
		require.NoError(t, err)
		for i := range ticks {
			before(g, i, -1)
			g.Refresh()
		}
		require.NoError(t, r.Close())
		return log
	}
	play := func(log *bytes.Buffer, c *state.Codecs, change int) (made int, err error) {
		l, err := inputlog.Open(bytes.NewReader(log.Bytes()))
		require.NoError(t, err)
		g := start()
		p, err := l.Play(g.World, c)
		require.NoError(t, err)
		for ; p.Next(); made++ {
			before(g, made, change)
			require.NoError(t, p.Make(nil)) // it was a Refresh
		}
		return made, p.Err()
	}
	for name, codecs := range map[string]func() *state.Codecs{
		"panics":   func() *state.Codecs { return fickles(panics) },
		"no codec": func() *state.Codecs { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			log := record(codecs())
			made, err := play(log, codecs(), -1)
			require.NoError(t, err)
			require.Equal(t, ticks, made)
			for _, change := range []int{2, 5, 6, 15} {
				made, err = play(log, codecs(), change)
				require.ErrorIs(t, err, inputlog.ErrDiffers)
				require.Equal(t, change+1, made, "the tick after the change")
			}
		})
	}
	_, err := play(record(fickles(never)), fickles(panics), -1)
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorContains(t, err, "a codec failed: five")
	_, err = play(record(fickles(panics)), fickles(never), -1)
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	_, err = play(record(fickles(never)), nil, -1)
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorIs(t, err, state.ErrNoCodec)
}
