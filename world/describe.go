package world

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// WorldInfo describes a world.
type WorldInfo struct {
	Tick       uint64       `json:"tick"`
	Entities   int          `json:"entities"` // marked ones included
	Components []string     `json:"components"`
	Messages   []string     `json:"messages"`
	Resources  []string     `json:"resources"`
	Shards     []shard.Info `json:"shards"`
}

// describeShard describes a shard.
func (w *World) describeShard(i int) shard.Info {
	s := w.shards[i]
	x := shard.Info{Shard: i, Entities: s.Alive(), Marked: s.MarkedRows(), Created: s.Created(), Destroyed: s.Destroyed(), Tables: []shard.TableInfo{}}
	for _, t := range s.Tables() {
		if t.Rows() > 0 {
			x.Tables = append(x.Tables, w.describeTable(t))
		}
	}
	return x
}

func (w *World) describeTable(t *store.Table) shard.TableInfo {
	x := shard.TableInfo{Entities: t.Rows(), Marked: t.Marked(), Components: []string{}, Chunks: []int{}}
	set := t.Set()
	for id := range set.All {
		x.Components = append(x.Components, w.components[id].name)
	}
	for _, c := range t.Chunks() {
		x.Chunks = append(x.Chunks, c.Cap())
		x.Capacity += c.Cap()
	}
	return x
}

// Describe describes the world, for tools. It panics while a tick runs. Its cost depends on the
// number of tables and chunks.
func (w *World) Describe() WorldInfo {
	w.mustIdle("World.Describe")
	x := WorldInfo{Tick: w.Tick(), Entities: w.Count(), Components: []string{}, Messages: []string{}, Resources: []string{}}
	for _, c := range w.components {
		x.Components = append(x.Components, c.name)
	}
	for _, m := range w.messages {
		x.Messages = append(x.Messages, m.messageName())
	}
	for _, r := range w.resources {
		x.Resources = append(x.Resources, r.resourceName())
	}
	for i := range w.shards {
		x.Shards = append(x.Shards, w.describeShard(i))
	}
	return x
}

// String describes the world, then each shard.
func (x WorldInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "world at tick %d: %d entities, %d shards, %d components, %d messages, %d resources",
		x.Tick, x.Entities, len(x.Shards), len(x.Components), len(x.Messages), len(x.Resources))
	for _, s := range x.Shards {
		fmt.Fprintf(&b, "\n%v", s)
	}
	return b.String()
}

// LogValue gives logs the world, without its shards, as a group. It implements
// [slog.LogValuer].
func (x WorldInfo) LogValue() slog.Value {
	return slog.GroupValue(slog.Uint64("tick", x.Tick), slog.Int("entities", x.Entities), slog.Int("shards", len(x.Shards)))
}
