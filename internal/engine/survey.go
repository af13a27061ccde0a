package engine

import (
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Survey is the state of an idle world, for tools that hash, save or compare worlds without knowing
// their types: everything that decides what the world does next, and nothing else. The results of
// its methods must not be written, and are good until the world changes.
type Survey World

// Survey returns the whole state of the idle world, for reading. It is good until the world
// changes.
func (w *World) Survey() *Survey {
	w.mustIdle("a survey")
	return (*Survey)(w)
}

// Components lists the components, by number.
func (s *Survey) Components() []extend.Named {
	all := make([]extend.Named, len(s.components))
	for i, c := range s.components {
		all[i] = extend.Named{Name: c.name, Type: c.typ}
	}
	return all
}

// Messages lists the messages, in the order in which they were registered.
func (s *Survey) Messages() []extend.Named { return namedOf(s.messages) }

// MessageCount returns how many there are.
func (s *Survey) MessageCount() int { return len(s.messages) }

// Resources lists the resources, by number.
func (s *Survey) Resources() []extend.Named { return namedOf(s.resources) }

// namedOf lists what has a name and a type, by number.
func namedOf[T interface {
	Name() string
	Type() reflect.Type
}](of []T) []extend.Named {
	all := make([]extend.Named, len(of))
	for i, x := range of {
		all[i] = extend.Named{Name: x.Name(), Type: x.Type()}
	}
	return all
}

// Registered lists everything that the program has registered and on which the hash of the
// state depends. Whatever else is hashed, a load restores. So the hashes of two worlds can be
// compared if these lists are the same, and package snapshot refuses a list that it does not
// save.
func (s *Survey) Registered() []extend.Registered {
	var hooks, extensions []extend.Named
	for _, h := range s.hooks.all {
		hooks = append(hooks, extend.Named{Name: h.name})
	}
	for _, x := range s.parts {
		extensions = append(extensions, extend.Named{Name: x.Name()})
	}
	return []extend.Registered{
		{What: "component", Names: s.Components()}, {What: "message", Names: s.Messages()}, {What: "resource", Names: s.Resources()},
		{What: "hook", Names: hooks}, {What: "extension", Names: extensions},
	}
}

// Counts returns how many components, resources and extensions there are.
func (s *Survey) Counts() extend.Counts {
	return extend.Counts{Components: len(s.components), Resources: len(s.resources), Extensions: len(s.parts)}
}

// Placement returns the shard of the next entity that the idle world creates, and how many
// are created there.
func (s *Survey) Placement() (shard, run int) { return s.cursor, s.run }

// Pinned returns the components whose entities Shift leaves where they are.
func (s *Survey) Pinned() []int { return slices.Collect(s.engine.Pinned.All) }

// Copied reports whether a frame's copy of a component shares nothing with the component.
func (s *Survey) Copied(component int) bool {
	_, what := s.Shares(component)
	return what == 0
}

// Shares returns the path to a part that a frame's copy of a component would share, and its kind,
// or 0.
func (s *Survey) Shares(component int) (path string, kind reflect.Kind) {
	return (*World)(s).sharing(component)
}

// Misrouted reports whether messages may be in the box of another shard than their
// entity's. The next tick then forwards them when it begins.
func (s *Survey) Misrouted() bool { return s.engine.Mail.Misrouted }

// Shard returns a shard, which includes its tables and its slots.
func (s *Survey) Shard(i int) *store.Shard { return s.shards[i] }

// Shards returns all shards.
func (s *Survey) Shards() []*store.Shard { return s.shards }

// PortSlots returns the slots of the entities that ports create.
func (s *Survey) PortSlots() *slots.PortAllocator { return s.engine.PortSlots }

// Extensions returns the extensions, in the order in which they were added.
func (s *Survey) Extensions() []extend.Base { return s.parts }

// Hooks returns the hooks, in the order in which they are called.
func (s *Survey) Hooks() []*Hook { return s.hooks.all }

// Kinds returns the kinds of requests.
func (s *Survey) Kinds() store.Kinds { return s.space.Kinds() }

// Requests calls f with the requests that systems, and functions called on entities, have sent and
// that the next refresh will apply: the requests of one shard, in order, or with world.AllShards of
// global systems. The argument of f is good until f returns.
func (s *Survey) Requests(from int, f func(queue.PendingRequest)) {
	c := s.contexts[len(s.shards)]
	if from != AllShards {
		c = s.contexts[from]
	}
	if c.out.out != nil {
		c.out.out.Publish()
		c.out.out.Look(s.engine.Epoch.Load(), f)
	}
}

// Mailbox returns the messages of one kind that are delivered to a shard in the next tick,
// in order: the receivers and the bodies.
func (s *Survey) Mailbox(message, shard int) ([]handle.Handle, mem.Cells) {
	return s.messages[message].Mail(shard)
}

// Resource returns the value of a resource, and how many parts it has: one for each shard if it
// is an accumulator, otherwise none. The value is in place, without Values.
func (s *Survey) Resource(i int) (value mem.Cells, parts int) { return s.resources[i].Cells() }

// ResourcePart returns what a shard has added to an accumulator since the last merge, in place,
// without Values.
func (s *Survey) ResourcePart(i, shard int) mem.Cells { return s.resources[i].PartCells(shard) }
