package transactions_test

import (
	"fmt"
	"hash/fnv"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// away is a piece that was taken from the world, with the gold in it.
type away struct {
	piece *snapshot.Piece
	gold  map[handle.Handle]int64
}

// travel makes a piece of an entity with all below it, as the transaction sees them, and inserts it, or
// takes it away, until comeBack.
func (x *scene) travel(tx *world.Tx, h handle.Handle, n int) (sum uint64) {
	o := snapshot.ExtractOptions{Codecs: x.codecs, Take: n%3 == 0}
	if n%7 == 0 {
		o.Relations = []string{"slots"}
	}
	had := map[handle.Handle]int64{}
	for _, h := range x.below(tx, h, o.Relations == nil) {
		if v, ok := x.purse.Get(tx, h); ok {
			had[h] = v.Gold
		}
	}
	piece, err := snapshot.Extract(tx, o, h)
	if err != nil {
		return uint64(len(err.Error()))
	}
	hash := fnv.New64a()
	_, _ = hash.Write(piece.Bytes())
	sum = hash.Sum64()
	gold := map[handle.Handle]int64{}
	for h := range piece.Handles() {
		if v, ok := had[h]; ok {
			gold[h] = v
		}
		if _, ok := x.purse.Get(tx, h); o.Take {
			require.False(x.t, ok)
			x.draft.remove(nil, h)
		}
	}
	require.Equal(x.t, had, gold, "all that is below is in the piece")
	if again, err := snapshot.ReadPiece(piece.Bytes()); n%2 == 0 {
		require.NoError(x.t, err)
		piece = again
	}
	if o.Take && n%4 != 0 {
		if x.leave = append(x.leave, away{piece, gold}); len(x.leave) > 10 {
			x.leave = x.leave[1:]
		}
		return sum
	}
	in, err := snapshot.Insert(tx, piece, snapshot.InsertOptions{Codecs: x.codecs, Shard: n % 3, WithoutNames: n%5 != 0})
	if err != nil {
		return sum + uint64(len(err.Error()))
	}
	for old, now := range in.All() {
		v, ok := x.purse.Get(tx, now)
		was, had := gold[old]
		require.Equal(x.t, had, ok)
		if require.Equal(x.t, was, v.Gold); ok {
			x.draft.set(nil, now, was)
		}
		x.made = append(x.made, now)
		sum = sum*31 + uint64(now)
	}
	return sum + uint64(in.Cut)
}

// comeBack puts back what was taken away first.
func (x *scene) comeBack(tx *world.Tx) (sum uint64) {
	if len(x.leave) == 0 {
		return 0
	}
	a := x.leave[0]
	err := snapshot.PutBack(tx, a.piece, snapshot.InsertOptions{Codecs: x.codecs})
	if x.leave = x.leave[1:]; err == nil {
		for h, want := range a.gold {
			v, ok := x.purse.Get(tx, h)
			require.True(x.t, ok)
			require.Equal(x.t, want, v.Gold)
			x.draft.set(nil, h, want)
		}
	}
	return uint64(len(fmt.Sprint(err)))
}

// below returns an entity with all that is below it.
func (x *scene) below(tx *world.Tx, h handle.Handle, kin bool) (all []handle.Handle) {
	all = []handle.Handle{h}
	seen := map[handle.Handle]bool{h: true}
	for i := 0; i < len(all); i++ {
		for child := range x.slots.Read(tx).Each(all[i]) {
			if !seen[child] {
				seen[child], all = true, append(all, child)
			}
		}
		for child := range x.kin.Read(tx).Each(all[i]) {
			if kin && !seen[child] {
				seen[child], all = true, append(all, child)
			}
		}
	}
	return all
}
