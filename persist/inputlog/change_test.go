package inputlog_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type age struct{ Ticks int }

type aged struct{ age }

// ageing is a world whose system counts ticks in each entity.
func ageing(t *testing.T, onTick func(w *world.World)) (*world.World, *scheduler.Scheduler, *world.Bundle[aged]) {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[age](w, "age")
	s := scheduler.New(w, scheduler.Options{Workers: 1, OnTick: func(scheduler.Report) { onTick(w) }})
	s.MustAdd("grow old", func(b *world.Build) func(*world.Context) {
		ages := world.Write[age](b)
		all := b.Query(ages)
		return func(*world.Context) {
			for rows := range all.Chunks() {
				for i := range ages.Slice(rows) {
					ages.Slice(rows)[i].Ticks++
				}
			}
		}
	})
	bundle := world.NewBundle[aged](w)
	require.NoError(t, bundle.CreateN(w, 100, nil))
	return w, s, bundle
}

// TestOnChange is told of what changes the idle world, once each, and not of what a replay does
// too.
func TestOnChange(t *testing.T) {
	write := func(w *world.World) {
		for rows := range w.Query(world.With[age](w)).Chunks() {
			world.Write[age](w).Slice(rows)[0].Ticks += 10
		}
	}
	w, s, bundle := ageing(t, write)
	var file bytes.Buffer
	told := 0
	r, err := inputlog.NewRecorder(w, &file, inputlog.Options{OnChange: func() { told++ }})
	require.NoError(t, err)
	step := func() { require.NoError(t, s.Step(context.Background())) }
	if refuses(t, func() { write(w) }) && refuses(t, step) { // in OnTick
		require.NoError(t, w.Err())
		require.Zero(t, told)
		require.NoError(t, r.Close())
		return
	}
	for range 3 {
		step()
	}
	require.Zero(t, told)
	s.Between(write)
	step()
	require.Equal(t, 1, told)
	step()
	require.Equal(t, 1, told)
	_, err = bundle.Create(w, aged{})
	require.NoError(t, err)
	w.Refresh()
	require.Equal(t, 2, told)
	w.Destroy(handle.New(0, 5, 1))
	require.NoError(t, r.Close())
	require.Equal(t, 3, told, "before the Recorder is closed")

	again, s, _ := ageing(t, write)
	log, err := inputlog.Open(&file)
	require.NoError(t, err)
	p, err := log.Play(again, nil)
	require.NoError(t, err)
	for p.Next() {
		require.NoError(t, p.Make(func() error { return s.Step(context.Background()) }))
	}
	require.ErrorIs(t, p.Err(), inputlog.ErrChanged)
	require.ErrorContains(t, p.Err(), "before tick 3")
	require.Equal(t, uint64(3), p.Ticks())
}

// TestMake plays ticks, refreshes and a clear as they were recorded.
func TestMake(t *testing.T) {
	var file bytes.Buffer
	var hashes []state.Hash
	hash := func(w *world.World) state.Hash {
		h, err := state.StateHash(w, nil)
		require.NoError(t, err)
		return h
	}
	w, s, bundle := ageing(t, func(*world.World) {})
	r, err := inputlog.NewRecorder(w, &file, inputlog.Options{})
	require.NoError(t, err)
	port, err := w.OpenPort()
	require.NoError(t, err)
	for i, make := range []func(){w.Refresh, nil, nil, w.Clear, nil, w.Refresh} {
		_, err := bundle.Create(port, aged{age{i}})
		require.NoError(t, err)
		if make != nil {
			make()
		} else {
			require.NoError(t, s.Step(context.Background()))
		}
		hashes = append(hashes, hash(w))
	}
	require.NoError(t, r.Close())

	again, s, _ := ageing(t, func(*world.World) {})
	log, err := inputlog.Open(&file)
	require.NoError(t, err)
	p, err := log.Play(again, nil)
	require.NoError(t, err)
	for i := 0; p.Next(); i++ {
		require.NoError(t, p.Make(func() error { return s.Step(context.Background()) }))
		require.Equal(t, hashes[i], hash(again), "tick %d", i)
	}
	require.NoError(t, p.Err())
	require.Equal(t, uint64(6), p.Ticks())
}
