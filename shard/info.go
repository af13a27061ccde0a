package shard

import (
	"fmt"
	"log/slog"
	"strings"
)

// TableInfo describes a table: entities of one shard with the same components.
type TableInfo struct {
	Components []string `json:"components"`
	Entities   int      `json:"entities"` // dying ones included
	Dying      int      `json:"dying"`
	Capacity   int      `json:"capacity"` // of all chunks
	Chunks     []int    `json:"chunks"`   // the capacity of each
}

// Info describes a shard. Tables are in the order in which queries visit them;
// those without entities are left out.
type Info struct {
	Shard     int         `json:"shard"`
	Entities  int         `json:"entities"` // dying ones included
	Dying     int         `json:"dying"`
	Created   uint64      `json:"created"`   // ever
	Destroyed uint64      `json:"destroyed"` // ever
	Tables    []TableInfo `json:"tables"`
}

// String describes the table on one line.
func (x TableInfo) String() string {
	s := fmt.Sprintf("%d of (%s), %s%d chunks for %d", x.Entities, strings.Join(x.Components, ", "), dying(x.Dying), len(x.Chunks), x.Capacity)
	return s
}

// dying is the text about dying entities, empty if there are none.
func dying(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d dying, ", n)
}

// String describes the shard, and each of its tables on a line.
func (x Info) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "shard %d: %d entities, %s%d created, %d destroyed", x.Shard, x.Entities, dying(x.Dying), x.Created, x.Destroyed)
	for _, t := range x.Tables {
		fmt.Fprintf(&b, "\n  %v", t)
	}
	return b.String()
}

// LogValue gives logs the table as a group. It implements [slog.LogValuer].
func (x TableInfo) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("components", x.Components), slog.Int("entities", x.Entities),
		slog.Int("dying", x.Dying), slog.Int("capacity", x.Capacity))
}

// LogValue gives logs the shard, without its tables, as a group. It implements
// [slog.LogValuer].
func (x Info) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("shard", x.Shard), slog.Int("entities", x.Entities), slog.Int("dying", x.Dying),
		slog.Uint64("created", x.Created), slog.Uint64("destroyed", x.Destroyed), slog.Int("tables", len(x.Tables)))
}
