package main

import (
	"errors"
	"log"
	"sync"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/world"
)

// State is where a zone is saved: every ten seconds while it ticks, and when it ends.
type State struct {
	dir     snapshot.Dir // none if its Path is empty
	options snapshot.Options
	writing sync.WaitGroup
	busy    sync.Mutex // held while a file is written
}

const saveEvery = 200 // ticks

// saved says what is saved: everything, but of a Session nothing, because its client is gone.
func saved(s *scheduler.Scheduler) snapshot.Options {
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Session]{
		Append: func(dst []byte, _ *Session) []byte { return dst },
		Read:   func([]byte, *Session) error { return nil },
	})
	return snapshot.Options{Scheduler: s, Codecs: codecs}
}

// load makes the empty zone what it was when it was saved last, without the avatars.
func (s *State) load(w *world.World) error {
	found, err := s.dir.Load(w, s.options)
	if errors.Is(err, snapshot.ErrNone) {
		return nil // the first start
	}
	if err == nil {
		log.Printf("goes on from tick %d of %s", found.Info.Tick, found.Path)
		w.Query(world.With[Session](w)).Destroy()
	}
	return err
}

// onTick saves the zone now and then. The file is written while the zone ticks on.
func (s *State) onTick(w *world.World, tick uint64) {
	if s.dir.Path == "" || tick%saveEvery != saveEvery-1 || !s.busy.TryLock() {
		return
	}
	c, err := snapshot.Capture(w, s.options)
	s.writing.Go(func() {
		defer s.busy.Unlock()
		if err == nil {
			_, err = s.dir.Write(c)
			c.Release()
		}
		if err != nil {
			log.Printf("not saved: %v", err)
		}
	})
}

// end saves the zone for the last time.
func (s *State) end(w *world.World) (err error) {
	s.writing.Wait()
	if s.dir.Path != "" {
		_, err = s.dir.Save(w, s.options)
	}
	return err
}
