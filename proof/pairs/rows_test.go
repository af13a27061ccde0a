package pairs_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// rows has ports and systems ask for the same of many entities whose rows follow one another, up or
// down, which the refresh applies at once.
func rows() *feature {
	return &feature{
		name: "rows",
		between: func(s *scene) {
			var all []handle.Handle
			for ch := range s.Query().Chunks() {
				all = append(all, ch.Handles()...)
			}
			for range 12 {
				if len(all) > 0 {
					s.inRows(all)
				}
			}
		},
	}
}

// inRows gives the same act for each of some entities that follow one another in all to one actor.
func (s *scene) inRows(all []handle.Handle) {
	at := s.n(len(all))
	run := slices.Clone(all[at:min(len(all), at+8+s.n(120))])
	if s.n(3) == 0 {
		slices.Reverse(run)
	}
	if twice := s.n(len(run)); s.n(4) == 0 {
		run = slices.Insert(run, twice, run[s.n(len(run))])
	}
	i, give, take, way := s.n(partsN), s.n(len(bundleParts)), parts(s.n(1<<partsN)), s.n(8)
	if way == 7 && s.crowd < population/2 {
		way = 0
	}
	who, port, shard, waits := s.n(3), s.ports[s.n(len(s.ports))], s.n(s.Shards()+1), s.coin()
	if e := s.model.alive(run[0]); shard < s.Shards() && e != nil && !s.plan.has("deferred") {
		shard = e.shard
	}
	if shard == s.Shards() && !s.plan.has("globals") {
		who = 0
	}
	for _, h := range run {
		if e := s.model.alive(h); who > 0 && shard < s.Shards() && !s.plan.has("deferred") && (e == nil || e.shard != shard) {
			continue // the rows of the next shard have begun
		}
		var a *act
		switch way {
		case 0, 1, 2:
			a = add(h, i, s.next())
		case 3:
			a = remove(h, i)
		case 4, 5:
			a = exchange(h, give, take, s.next())
		case 6:
			a = set(h, i, s.next())
		default:
			a = kill(h)
		}
		if who == 0 {
			s.byPort(port, a, waits)
		} else {
			s.script(shard, a)
		}
	}
}
