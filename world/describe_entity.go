package world

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/bits"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/store"
)

// EntityInfo is what an entity is at one moment, for logs and tools: as text by String, as
// attributes by LogValue, and as JSON. It holds copies and is good for as long as it is kept. What
// a component points to, such as the elements of a slice, it shares with the world, unless the
// component has a CloneBy.
type EntityInfo struct {
	Handle     handle.Handle
	Status     Status
	Shard      int // the shard that holds the entity, or -1 if it is not alive
	Flags      Flags
	Components []ComponentInfo // in the order in which they were registered
}

// ComponentInfo is a component of an EntityInfo.
type ComponentInfo struct {
	Name  string
	Value any // a copy
}

// DescribeEntity describes what a handle stands for. Its components are read by
// reflection: for tools, not for every entity in every tick. It panics while a tick
// runs.
func (w *World) DescribeEntity(h handle.Handle) EntityInfo {
	of := (*engine.World)(w)
	of.MustBeAsked("World.DescribeEntity")
	x := EntityInfo{Handle: h, Status: w.Status(h), Shard: -1}
	space := of.Space()
	l := space.Locate(h)
	if l == 0 {
		return x
	}
	x.Shard, x.Flags = space.Owner(l), Flags(space.FlagsAt(l))
	for id := range space.Set(l).All {
		x.Components = append(x.Components, ComponentInfo{of.ComponentName(id), store.ValueAt(space.Columns[id], l)})
	}
	return x
}

// String describes the entity on one line, as in
//
//	3:1047@5 alive on shard 2, flags 0b101: position {1 2}, health {100}
func (e EntityInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", e.Handle, e.Status)
	if e.Shard >= 0 {
		fmt.Fprintf(&b, " on shard %d", e.Shard)
	}
	if e.Flags != 0 {
		fmt.Fprintf(&b, ", flags %#b", e.Flags)
	}
	for i, c := range e.Components {
		b.WriteString([...]string{": ", ", "}[min(i, 1)])
		b.WriteString(c.Name)
		fmt.Fprintf(&b, " %+v", c.Value)
	}
	return b.String()
}

// LogValue gives logs the entity as a group. It implements [slog.LogValuer].
func (e EntityInfo) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("handle", e.Handle.String()), slog.String("status", e.Status.String())}
	if e.Shard >= 0 {
		attrs = append(attrs, slog.Int("shard", e.Shard))
	}
	if e.Flags != 0 {
		attrs = append(attrs, slog.String("flags", fmt.Sprintf("%#b", e.Flags)))
	}
	var components []slog.Attr
	for _, c := range e.Components {
		components = append(components, slog.Any(c.Name, c.Value))
	}
	return slog.GroupValue(append(attrs, slog.Attr{Key: "components", Value: slog.GroupValue(components...)})...)
}

// MarshalJSON writes the entity as an object. Its components are an object by name, in the order in
// which they were registered, each as encoding/json writes it. A component that encoding/json
// cannot write becomes a string, formatted by fmt, so there is no error. It implements
// [json.Marshaler].
func (e EntityInfo) MarshalJSON() ([]byte, error) {
	head := struct {
		Handle string `json:"handle"`
		Status string `json:"status"`
		Shard  *int   `json:"shard,omitempty"`
		Flags  []int  `json:"flags,omitempty"` // their numbers
	}{Handle: e.Handle.String(), Status: e.Status.String()}
	if e.Shard >= 0 {
		head.Shard = &e.Shard
	}
	for f := e.Flags; f != 0; f &= f - 1 {
		head.Flags = append(head.Flags, bits.TrailingZeros8(uint8(f)))
	}
	components := []byte(`,"components":{`)
	for i, c := range e.Components {
		if i > 0 {
			components = append(components, ',')
		}
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		components = append(append(components, name...), ':')
		components = append(components, jsonOf(c.Value)...)
	}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(append(b[:len(b)-1], components...), '}', '}'), nil
}

// jsonOf writes a value as JSON, or, if that is not possible, as a string.
func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(fmt.Sprintf("%+v", v))
	}
	return b
}
