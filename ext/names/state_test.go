package names_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestState checks that the hash of a world tells names and what was refused, however
// they came about.
func TestState(t *testing.T) {
	type scene struct {
		*fixture
		ids   *names.Names[uint64]
		uuids *names.Names[[16]byte]
		hs    []handle.Handle
		port  *world.Port
	}
	hash := func(act func(s *scene)) state.Hash {
		s := &scene{fixture: newFixture(t, 2, names.Options{})}
		s.ids, s.uuids = names.New[uint64](s.World, "ids", names.Options{}), names.New[[16]byte](s.World, "uuids", names.Options{})
		s.hs = s.make(3)
		require.NoError(t, s.names.Bind(s.World, s.hs[0], "ann"))
		s.port = s.fixture.port()
		act(s)
		s.Refresh()
		got, err := state.StateHash(s.World, nil)
		require.NoError(t, err)
		return got
	}
	seen := map[state.Hash]string{}
	for name, act := range map[string]func(s *scene){
		"nothing": func(*scene) {},
		"name":    func(s *scene) { require.NoError(t, s.names.Bind(s.World, s.hs[0], "bob")) },
		"id":      func(s *scene) { require.NoError(t, s.ids.Bind(s.World, s.hs[0], 5)) },
		"other":   func(s *scene) { require.NoError(t, s.ids.Bind(s.World, s.hs[0], 6)) },
		"uuid":    func(s *scene) { require.NoError(t, s.uuids.Bind(s.World, s.hs[0], [16]byte{5})) },
		"refused": func(s *scene) { require.NoError(t, s.names.Bind(s.port, s.hs[1], "ann")) },
	} {
		got := hash(act)
		require.Empty(t, seen[got], name)
		seen[got] = name
		require.Equal(t, got, hash(act), "%s: the same again", name)
	}
	require.Equal(t, hash(func(*scene) {}), hash(func(s *scene) {
		require.NoError(t, s.names.Unbind(s.World, s.hs[0]))
		require.NoError(t, s.names.Bind(s.World, s.hs[1], "x"))
		require.NoError(t, s.names.Unbind(s.World, s.hs[1]))
		require.NoError(t, s.names.Bind(s.World, s.hs[0], "ann"))
	}))
}

// TestStateAgain hashes names again and again while they change: that nothing was encoded anew when
// nothing had changed does not show.
func TestStateAgain(t *testing.T) {
	f := newFixture(t, 2, names.Options{})
	hs := f.make(3)
	hash := func() state.Hash {
		got, err := state.StateHash(f.World, nil)
		require.NoError(t, err)
		return got
	}
	was := hash()
	for i, change := range []func(){
		func() { require.NoError(t, f.names.Bind(f.World, hs[0], "ann")) },
		func() { require.NoError(t, f.names.Bind(f.World, hs[0], "bob")) },
		func() { require.NoError(t, f.names.Bind(f.World, hs[1], "ann")) },
		func() { require.NoError(t, f.names.Unbind(f.World, hs[0])) },
		func() { require.True(t, f.Destroy(hs[1])) },
	} {
		change()
		now := hash()
		require.NotEqual(t, was, now, "change %d", i)
		require.Equal(t, now, hash())
		was = now
	}
	f.Refresh()
	require.Zero(t, f.names.Len())
	empty := newFixture(t, 2, names.Options{})
	require.NotEqual(t, hash(), was)
	require.Zero(t, empty.names.Len())
}
