package world

import (
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// survey is a world as a drive.Survey.
type survey World

func (s *survey) Components() []drive.Named {
	all := make([]drive.Named, len(s.components))
	for i, c := range s.components {
		all[i] = drive.Named{Name: c.name, Type: c.typ}
	}
	return all
}

func (s *survey) Messages() []drive.Named {
	all := make([]drive.Named, len(s.messages))
	for i, m := range s.messages {
		all[i] = drive.Named{Name: m.messageName(), Type: m.messageType()}
	}
	return all
}

func (s *survey) Resources() []drive.Named {
	all := make([]drive.Named, len(s.resources))
	for i, r := range s.resources {
		all[i] = drive.Named{Name: r.resourceName(), Type: r.(surveyedResource).resourceType()}
	}
	return all
}

func (s *survey) Registered() []drive.Registered {
	var hooks, extensions []drive.Named
	for _, h := range s.hooks.all {
		hooks = append(hooks, drive.Named{Name: h.name})
	}
	for i, x := range s.parts {
		extensions = append(extensions, drive.Named{Name: drive.NameOf(x, i)})
	}
	return []drive.Registered{
		{What: "component", Names: s.Components()}, {What: "message", Names: s.Messages()}, {What: "resource", Names: s.Resources()},
		{What: "hook", Names: hooks}, {What: "extension", Names: extensions},
	}
}

func (s *survey) Counts() drive.Counts {
	return drive.Counts{Components: len(s.components), Resources: len(s.resources), Extensions: len(s.parts)}
}

func (s *survey) Placement() (shard, run int) { return s.cursor, s.run }

func (s *survey) Pinned() []int { return slices.Collect(s.engine.Pinned.All) }

func (s *survey) Copied(component int) bool {
	_, what := s.Shares(component)
	return what == 0
}

func (s *survey) Shares(component int) (string, reflect.Kind) {
	return (*World)(s).sharing(component)
}

func (s *survey) Misrouted() bool { return s.engine.Mail.Misrouted }

func (s *survey) Shard(i int) *store.Shard { return s.shards[i] }

func (s *survey) PortSlots() *slots.PortAllocator { return s.engine.PortSlots }

func (s *survey) Extensions() []any { return s.parts }

func (s *survey) Hooks() []drive.Hook {
	all := make([]drive.Hook, len(s.hooks.all))
	for i, h := range s.hooks.all {
		all[i] = (*drivenHook)(h)
	}
	return all
}

func (s *survey) Kinds() store.Kinds { return s.space.Kinds() }

func (s *survey) Requests(from int, f func(queue.PendingRequest)) {
	c := s.contexts[len(s.shards)]
	if from != AllShards {
		c = s.contexts[from]
	}
	if c.out.out != nil {
		c.out.out.Publish()
		c.out.out.Look(s.engine.Epoch.Load(), f)
	}
}

func (s *survey) Mailbox(message, shard int) ([]handle.Handle, mem.Cells) {
	return s.messages[message].(surveyedMessage).mail(shard)
}

type surveyedMessage interface {
	mail(box int) ([]handle.Handle, mem.Cells)
}

func (m *Message[M]) mail(box int) (to []handle.Handle, bodies mem.Cells) {
	var all []M
	for _, e := range m.boxes[box].now {
		to, all = append(to, e.To), append(all, e.Body)
	}
	return to, mem.CellsOf(all)
}

func (s *survey) Resource(i int) (value mem.Cells, parts int) {
	return s.resources[i].(surveyedResource).cells()
}

func (s *survey) ResourcePart(i, shard int) mem.Cells {
	return s.resources[i].(surveyedResource).partCells(shard)
}

type surveyedResource interface {
	resourceType() reflect.Type
	cells() (value mem.Cells, parts int)
	partCells(shard int) mem.Cells
}

func (r *Resource[T]) resourceType() reflect.Type { return r.of.Of }

func (r *Resource[T]) cells() (value mem.Cells, parts int) {
	return r.of.Run(mem.PointerTo(&r.value).Address, 1), len(r.parts)
}

func (r *Resource[T]) partCells(shard int) mem.Cells {
	return r.of.Run(mem.PointerTo(&r.parts[shard].value).Address, 1)
}
