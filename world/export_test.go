package world

import "github.com/atoll-sim/atoll/shard"

// Enter makes somebody use a shard.
func (w *World) Enter(i int, who string) (leave func()) {
	w.shards[i].Enter(&shard.Visitor{What: who})
	return w.shards[i].Leave
}

// LookedAt returns how many ports the last refresh looked at.
func (w *World) LookedAt() int { return len(w.refresh.ports) }
