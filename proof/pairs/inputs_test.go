package pairs_test

import (
	"bytes"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// tapes is the log of a scene, and what was seen while it was recorded.
type tapes struct {
	recorder *inputlog.Recorder
	log      *bytes.Buffer
	seen     [][]fact
}

// inputs records a log of inputs and plays it in another world, with another number of
// workers, which must show the same after each tick.
func inputs() *feature {
	return &feature{
		name: "inputs",
		between: func(s *scene) {
			if s.made["tapes"] != nil {
				return
			}
			x := &tapes{log: new(bytes.Buffer)}
			var err error
			o := inputlog.Options{Codecs: s.codecs, NoHash: true}
			if *sealed {
				engine.Of(s.World).Lenient() // the replay repeats what is done to the idle world
				o.Commit = func() error { return nil }
				s.model.sealed = true
			}
			x.recorder, err = inputlog.NewRecorder(s.World, x.log, o) // other features' first changes of the idle world are before it
			s.must(err == nil, "NewRecorder: %v", err)
			s.made["tapes"] = x
		},
		check: func(s *scene) {
			x := s.made["tapes"].(*tapes)
			x.seen = append(x.seen, s.visible())
			s.must(x.recorder.Hash(s.hasher) == nil, "Hash: %v", x.recorder.Err())
		},
		end: (*scene).replay,
	}
}

// visible is what can be seen without knowing what was asked.
func (o *objects) visible() (all []fact) {
	gets := o.getters()
	var found []handle.Handle
	for ch := range o.Query().Chunks() {
		found = append(found, ch.Handles()...)
	}
	slices.Sort(found)
	for _, h := range found {
		if check.Enabled && h.Index()%sampled != 0 {
			continue
		}
		shard, _ := o.Owner(h)
		hash := uint64(0)
		for i := range o.parts {
			if v, ok := gets[i](h); ok {
				hash = mix(mix(hash, uint64(i)), uint64(v))
			}
		}
		all = append(all, fact{"shard", h, uint64(shard)}, fact{"flags", h, uint64(world.FlagsOf(o.World, h))}, fact{"components", h, hash})
	}
	for i, notes := range o.notes {
		for _, n := range notes {
			all = append(all, fact{n.what, n.h, mix(uint64(n.v), uint64(i))})
		}
	}
	return append(all, o.sections()...)
}

// replay plays the log in a new world, to which is done again what no log has.
func (s *scene) replay() {
	x := s.made["tapes"].(*tapes)
	s.must(x.recorder.Close() == nil, "the recorder: %v", x.recorder.Err())
	log, err := inputlog.Open(x.log)
	s.must(err == nil, "the log: %v", err)
	workers := 1
	if s.workers == 1 {
		workers = 5
	}
	o := s.begin(workers)
	engine.Of(o.World).Lenient()
	player, err := log.Play(o.World, o.codecs)
	s.must(err == nil, "Play: %v", err)
	for tick := range s.tape {
		for _, a := range s.tape[tick].idle {
			_, _ = a.do(o, o.World)
		}
		s.must(player.Next(), "the log ends at tick %d: %v", tick, player.Err())
		for i, script := range s.tape[tick].scripts {
			o.scripts[i] = slices.DeleteFunc(slices.Clone(script), func(a *act) bool { return a.outer })
		}
		o.step()
		if d := difference(x.seen[tick], o.visible()); d != "" {
			s.must(false, "a replay with %d workers differs in tick %d: %s", workers, tick, d)
		}
		_, err := player.Verify(o.hasher)
		s.must(err == nil, "a replay with %d workers: %v", workers, err)
	}
	if x, ok := o.made["spoken"].(*spoken); ok {
		s.must(len(x.at) == 0, "a replay has handled outputs: %v", x.v)
	}
	s.must(!player.Next() && player.Err() == nil, "the log goes on, or ends with %v", player.Err())
	o.Close()
}
