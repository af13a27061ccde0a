package check_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
)

// TestGuardTakesNoRoom sees that a release build pays nothing for guards.
func TestGuardTakesNoRoom(t *testing.T) {
	if check.Enabled {
		t.Skip("it does in the check build")
	}
	require.Zero(t, reflect.TypeFor[check.Guard]().Size())
}

// TestTurns gives two users their turns.
func TestTurns(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
	var turn check.Turn
	one := turn.User("1", "one", "wait")
	turn.User("2", "two", "wait")
	require.Same(t, one, turn.User("1", "", ""), "a key has one user")
	mine := check.NewGuard(one, "a thing")
	var nobodys check.Guard
	nobodys.Must()
	require.PanicsWithValue(t, "world: a thing, made for one, is used out of turn: it is nobody's turn; wait", mine.Must)
	turn.Begin("2")
	require.PanicsWithValue(t, "world: a thing, made for one, is used out of turn: it is the turn of two; wait", mine.Must)
	turn.Begin("1")
	mine.Must()
	turn.Begin("3")
	require.Panics(t, mine.Must, "nobody has that key")
	turn.Begin("1")
	turn.End()
	require.Panics(t, mine.Must)
}

// TestLent lends chunks and sees them told of once, in order.
func TestLent(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
	var turn check.Turn
	g := check.NewGuard(turn.User("1", "one", ""), "a thing")
	for _, n := range []int{200, 3, 64, 3, 0} {
		g.Borrow(n)
	}
	told := func() (all []int) {
		g.Lent(func(n int) { all = append(all, n) })
		return all
	}
	require.Equal(t, []int{0, 3, 64, 200}, told())
	require.Empty(t, told())
}
