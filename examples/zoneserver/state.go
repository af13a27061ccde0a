package main

import (
	"context"
	"time"

	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/world"
)

// keep makes the zone that of a directory, without the avatars, and saves it there every ten seconds
// and when the Store is closed. There is no log, for systems look at what clients read.
func (z *Zone) keep(path string) (*durable.Store, error) {
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Session]{ // nothing is saved of it: its client is gone by then
		Append: func(dst []byte, _ *Session) []byte { return dst },
		Read:   func([]byte, *Session) error { return nil },
	})
	store, err := durable.Open(context.Background(), path, z.world, z.systems, durable.Options{
		NoLog: true, Every: 10 * time.Second, Snapshot: snapshot.Options{Codecs: codecs},
	})
	if err == nil {
		z.world.Query(world.With[Session](z.world)).Destroy()
	}
	return store, err
}
