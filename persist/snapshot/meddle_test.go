package snapshot_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestCodecMeddles saves and hashes with a codec that changes the world meanwhile. That panics, and the
// world stays what it was.
func TestCodecMeddles(t *testing.T) {
	for how, meddle := range map[string]func(w *world.World, bodies *world.Component[Body], all []handle.Handle){
		"add": func(w *world.World, bodies *world.Component[Body], all []handle.Handle) {
			_ = bodies.Add(w, all[5], Body{})
		},
		"clear": func(w *world.World, _ *world.Component[Body], _ []handle.Handle) { w.Clear() },
		"tick":  func(w *world.World, _ *world.Component[Body], _ []handle.Handle) { w.Refresh() },
	} {
		for name, call := range map[string]func(w *world.World, c *state.Codecs) error{
			"Write": func(w *world.World, c *state.Codecs) error {
				return snapshot.Write(io.Discard, w, snapshot.Options{Codecs: c})
			},
			"StateHash": func(w *world.World, c *state.Codecs) error { _, err := state.StateHash(w, c); return err },
			"Capture": func(w *world.World, c *state.Codecs) error {
				x, err := snapshot.Capture(w, snapshot.Options{Codecs: c})
				if err == nil {
					x.Release()
				}
				return err
			},
		} {
			for _, at := range []int{0, 25} { // in the hash, or later
				w := world.MustNew(world.Options{Shards: 2})
				links, bodies := world.Register[Link](w, "link"), world.Register[Body](w, "body")
				_ = links
				var all []handle.Handle
				for range 20 {
					all = append(all, create(w, Link{}))
				}
				w.Refresh()
				n, active := 0, false
				c := new(state.Codecs)
				state.Register(c, state.Codec[Link]{
					Append: func(dst []byte, v *Link) []byte {
						if n++; active && n == at+1 {
							meddle(w, bodies, all)
						}
						return fmt.Appendf(dst, "%v", v.To)
					},
					Read: func([]byte, *Link) error { return nil },
				})
				var before, after bytes.Buffer
				require.NoError(t, snapshot.Write(&before, w, snapshot.Options{Codecs: c}))
				n, active = 0, true
				func() {
					defer func() {
						if v := recover(); n > at {
							require.Contains(t, fmt.Sprint(v), "codec", "%s, %s, %d", name, how, at)
						}
					}()
					_ = call(w, c)
				}()
				active = false
				require.NoError(t, snapshot.Write(&after, w, snapshot.Options{Codecs: c}))
				require.True(t, bytes.Equal(before.Bytes(), after.Bytes()), "%s, %s, %d", name, how, at)
			}
		}
	}
}

// TestCodecCreates saves with a codec that creates entities, which nothing forbids. The snapshot is
// none.
func TestCodecCreates(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Link](w, "link")
	create(w, Link{})
	c, n := new(state.Codecs), 0
	state.Register(c, state.Codec[Link]{
		Append: func(dst []byte, _ *Link) []byte {
			if n++; n < 3 {
				create(w, Link{})
			}
			return dst
		},
		Read: func([]byte, *Link) error { return nil },
	})
	require.ErrorContains(t, snapshot.Write(io.Discard, w, snapshot.Options{Codecs: c}), "a codec has created some")
}
