package world

import (
	"fmt"
	"log/slog"
	"strings"
)

// TableInfo describes a table: entities of one shard with the same components.
type TableInfo struct {
	Shard      int      `json:"shard"`
	Components []string `json:"components"`
	Entities   int      `json:"entities"` // marked ones included
	Marked     int      `json:"marked"`
	Capacity   int      `json:"capacity"` // of all chunks
	Chunks     []int    `json:"chunks"`   // the capacity of each
}

// ShardInfo describes a shard. Tables are in the order in which queries visit them;
// those without entities are left out.
type ShardInfo struct {
	Shard     int         `json:"shard"`
	Entities  int         `json:"entities"` // marked ones included
	Marked    int         `json:"marked"`
	Created   uint64      `json:"created"`   // ever
	Destroyed uint64      `json:"destroyed"` // ever
	Tables    []TableInfo `json:"tables"`
}

// WorldInfo describes a world.
type WorldInfo struct {
	Tick       uint64      `json:"tick"`
	Entities   int         `json:"entities"` // marked ones included
	Components []string    `json:"components"`
	Messages   []string    `json:"messages"`
	Resources  []string    `json:"resources"`
	Shards     []ShardInfo `json:"shards"`
}

// Describe describes the table.
func (t Table) Describe() TableInfo {
	t.w.mustIdle("Table.Describe")
	x := TableInfo{Shard: t.Shard(), Components: t.Components(), Entities: t.Count(), Marked: t.Marked(), Capacity: t.Cap(), Chunks: []int{}}
	for _, c := range t.table.Chunks() {
		x.Chunks = append(x.Chunks, c.Cap())
	}
	return x
}

// DescribeShard describes a shard, for tools. It panics while a tick runs, or if there is no
// such shard. Its cost depends on the number of tables and chunks.
func (w *World) DescribeShard(i int) ShardInfo {
	w.mustIdle("World.DescribeShard")
	if i < 0 || i >= len(w.shards) {
		panic(fmt.Sprintf("world: World.DescribeShard of shard %d, want 0 to %d", i, len(w.shards)-1))
	}
	s := w.shards[i]
	x := ShardInfo{Shard: i, Entities: s.Alive(), Marked: s.MarkedRows(), Created: s.Created(), Destroyed: s.Destroyed(), Tables: []TableInfo{}}
	for _, t := range s.Tables() {
		if t.Rows() > 0 {
			x.Tables = append(x.Tables, Table{w, t}.Describe())
		}
	}
	return x
}

// Describe describes the world, for tools. It panics and costs as DescribeShard does.
func (w *World) Describe() WorldInfo {
	w.mustIdle("World.Describe")
	x := WorldInfo{Tick: w.Tick(), Entities: w.Count(), Components: []string{}, Messages: []string{}, Resources: []string{}}
	for _, c := range w.components {
		x.Components = append(x.Components, c.name)
	}
	for _, m := range w.messages {
		x.Messages = append(x.Messages, m.Name())
	}
	for _, r := range w.resources {
		x.Resources = append(x.Resources, r.Name())
	}
	for i := range w.shards {
		x.Shards = append(x.Shards, w.DescribeShard(i))
	}
	return x
}

// String describes the table on one line.
func (x TableInfo) String() string {
	s := fmt.Sprintf("%d of (%s), %s%d chunks for %d", x.Entities, strings.Join(x.Components, ", "), marked(x.Marked), len(x.Chunks), x.Capacity)
	return s
}

// marked is the text about marked entities, empty if there are none.
func marked(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d marked, ", n)
}

// String describes the shard, and each of its tables on a line.
func (x ShardInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "shard %d: %d entities, %s%d created, %d destroyed", x.Shard, x.Entities, marked(x.Marked), x.Created, x.Destroyed)
	for _, t := range x.Tables {
		fmt.Fprintf(&b, "\n  %v", t)
	}
	return b.String()
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

// LogValue gives logs the table as a group. It implements [slog.LogValuer].
func (x TableInfo) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("shard", x.Shard), slog.Any("components", x.Components), slog.Int("entities", x.Entities),
		slog.Int("marked", x.Marked), slog.Int("capacity", x.Capacity))
}

// LogValue gives logs the shard, without its tables, as a group. It implements
// [slog.LogValuer].
func (x ShardInfo) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("shard", x.Shard), slog.Int("entities", x.Entities), slog.Int("marked", x.Marked),
		slog.Uint64("created", x.Created), slog.Uint64("destroyed", x.Destroyed), slog.Int("tables", len(x.Tables)))
}

// LogValue gives logs the world, without its shards, as a group. It implements
// [slog.LogValuer].
func (x WorldInfo) LogValue() slog.Value {
	return slog.GroupValue(slog.Uint64("tick", x.Tick), slog.Int("entities", x.Entities), slog.Int("shards", len(x.Shards)))
}

// String describes what may be known of the world at any time: its shards and the tick.
// Describe returns more. Safe from any goroutine.
func (w *World) String() string {
	if w.Closed() {
		return fmt.Sprintf("closed world of %d shards, at tick %d", w.Shards(), w.Tick())
	}
	return fmt.Sprintf("world of %d shards, at tick %d", w.Shards(), w.Tick())
}

// LogValue gives logs what String describes, as a group. It implements [slog.LogValuer]. Safe
// from any goroutine.
func (w *World) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("shards", w.Shards()), slog.Uint64("tick", w.Tick()), slog.Bool("closed", w.Closed()))
}

// String describes the table on one line, as TableInfo does.
func (t Table) String() string { return t.Describe().String() }

// LogValue gives logs the table as a group. It implements [slog.LogValuer].
func (t Table) LogValue() slog.Value { return t.Describe().LogValue() }
