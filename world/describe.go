package world

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// WorldInfo describes a world.
type WorldInfo struct {
	Tick       uint64       `json:"tick"`
	Entities   int          `json:"entities"` // dying ones included
	Components []string     `json:"components"`
	Messages   []string     `json:"messages"`
	Resources  []string     `json:"resources"`
	Shards     []shard.Info `json:"shards"`
}

// describeShard describes a shard of the idle world, with its tables that have rows.
func describeShard(w *engine.World, s *store.Shard) shard.Info {
	x := shard.Info{Shard: s.ID(), Entities: s.Alive(), Dying: s.MarkedRows(), Created: s.Created(), Destroyed: s.Destroyed(), Tables: []shard.TableInfo{}}
	for _, t := range s.Tables() {
		if t.Rows() > 0 {
			x.Tables = append(x.Tables, describeTable(w, t))
		}
	}
	return x
}

// describeTable describes a table of the idle world.
func describeTable(w *engine.World, t *store.Table) shard.TableInfo {
	x := shard.TableInfo{Entities: t.Rows(), Dying: t.Marked(), Components: []string{}, Chunks: []int{}}
	set := t.Set()
	for id := range set.All {
		x.Components = append(x.Components, w.ComponentName(id))
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
	of := (*engine.World)(w)
	of.MustIdle("World.Describe")
	survey := of.Survey()
	x := WorldInfo{Tick: w.Tick(), Entities: w.Count(), Components: names(survey.Components()), Messages: names(survey.Messages()), Resources: names(survey.Resources())}
	for _, s := range survey.Shards() {
		x.Shards = append(x.Shards, describeShard(of, s))
	}
	return x
}

// names returns what things are called, in their order.
func names(of []extend.Named) []string {
	all := make([]string, 0, len(of))
	for _, x := range of {
		all = append(all, x.Name)
	}
	return all
}

// String describes the world, then each shard.
func (w WorldInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "world at tick %d: %d entities, %d shards, %d components, %d messages, %d resources",
		w.Tick, w.Entities, len(w.Shards), len(w.Components), len(w.Messages), len(w.Resources))
	for _, s := range w.Shards {
		fmt.Fprintf(&b, "\n%v", s)
	}
	return b.String()
}

// LogValue gives logs the world, without its shards, as a group. It implements
// [slog.LogValuer].
func (w WorldInfo) LogValue() slog.Value {
	return slog.GroupValue(slog.Uint64("tick", w.Tick), slog.Int("entities", w.Entities), slog.Int("shards", len(w.Shards)))
}
