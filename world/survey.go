package world

import (
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// Survey is the state of an idle world, for tools that hash, save or compare worlds without
// knowing their types: everything that decides what the world does next, and nothing else.
// Package state has one such tool. What its methods return must not be written, and is good
// until the world changes.
type Survey struct{ w *World }

// Named is a type that is registered under a name.
type Named struct {
	Name string
	Type reflect.Type
}

// Survey returns the world's survey. The world must be idle.
func (w *World) Survey() Survey {
	w.mustIdle("World.Survey")
	return Survey{w}
}

// Components lists the components by number.
func (s Survey) Components() []Named {
	all := make([]Named, len(s.w.components))
	for i, c := range s.w.components {
		all[i] = Named{c.name, c.typ}
	}
	return all
}

// Messages lists the messages in the order in which they were registered.
func (s Survey) Messages() []Named {
	all := make([]Named, len(s.w.messages))
	for i, m := range s.w.messages {
		all[i] = Named{m.Name(), m.messageType()}
	}
	return all
}

// Resources lists the resources by number.
func (s Survey) Resources() []Named {
	all := make([]Named, len(s.w.resources))
	for i, r := range s.w.resources {
		all[i] = Named{r.Name(), r.(surveyedResource).resourceType()}
	}
	return all
}

// Placement returns the shard of the next entity that the idle world creates, and how many are
// created there.
func (s Survey) Placement() (shard, run int) { return s.w.cursor, s.w.run }

// Misrouted reports whether messages may be in the box of another shard than their entity's.
// The next tick then forwards them when it begins.
func (s Survey) Misrouted() bool { return s.w.misrouted }

// Shard returns a shard, which includes its tables and its home.
func (s Survey) Shard(i int) *store.Shard { return s.w.shards[i] }

// PortSlots returns the home of the entities that ports create.
func (s Survey) PortSlots() *store.PortAllocator { return s.w.portSlots }

// Extensions lists the extensions in the order in which they were added.
func (s Survey) Extensions() []Extension {
	all := make([]Extension, len(s.w.extensions.all))
	for i, x := range s.w.extensions.all {
		all[i] = x.Extension
	}
	return all
}

// Kinds returns the kinds of requests.
func (s Survey) Kinds() store.Kinds { return s.w.space.Kinds() }

// Requests calls f with the requests that systems, and functions called on entities, have sent
// and that the next refresh will apply: those of one shard, in order, or with AllShards those
// of global systems. What f is given is good until it returns.
func (s Survey) Requests(from int, f func(store.PendingRequest)) {
	c := s.w.contexts[len(s.w.shards)]
	if from != AllShards {
		c = s.w.contexts[from]
	}
	if c.out.out != nil {
		c.out.out.Look(s.w.epoch.Load(), f)
	}
}

// Mailbox returns the messages of one kind that are delivered to a shard in the next tick, in
// order: the receivers and the bodies.
func (s Survey) Mailbox(message, shard int) ([]handle.Handle, store.Cells) {
	return s.w.messages[message].(surveyedMessage).mail(shard)
}

type surveyedMessage interface {
	mail(box int) ([]handle.Handle, store.Cells)
}

func (m *Message[M]) mail(box int) (to []handle.Handle, bodies store.Cells) {
	var all []M
	for _, e := range m.boxes[box].now {
		to, all = append(to, e.To), append(all, e.Body)
	}
	return to, store.CellsOf(all)
}

// Resource returns the value of a resource, and what each shard has added since the last merge.
// There are no parts except for an accumulator.
func (s Survey) Resource(i int) (value, parts store.Cells) {
	return s.w.resources[i].(surveyedResource).values()
}

type surveyedResource interface {
	resourceType() reflect.Type
	values() (value, parts store.Cells)
}

func (r *Resource[T]) resourceType() reflect.Type { return reflect.TypeFor[T]() }

func (r *Resource[T]) values() (value, parts store.Cells) {
	var all []T
	for _, p := range r.parts {
		all = append(all, p.value)
	}
	return store.CellsOf([]T{r.value}), store.CellsOf(all)
}
