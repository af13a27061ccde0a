package world

// Event is a kind of event of entities for which hooks are called; or several, joined by |.
type Event uint8

// The events, in the order in which hooks are called for them.
const (
	// OnCreate is for entities that were created with all of the hook's components.
	OnCreate Event = 1 << iota
	// OnRemove is for entities that had all of the components and no longer do. The values are
	// gone.
	OnRemove
	// OnAdd is for entities that now have all of the components and did not before.
	OnAdd
	// OnSet is for entities that have all of the components and in which one of them was replaced:
	// by Set, or by Add of a component that they had. It does not report writes through a Writer or
	// an EntityContext; use Query.ChunksSince for these.
	OnSet
	// OnDestroy is for entities that have all of the components and die in this refresh. The
	// components hold their last values.
	OnDestroy

	events = iota
)

// String returns the event's name, or those of several.
func (e Event) String() string {
	text := ""
	for i, name := range [events]string{"OnCreate", "OnRemove", "OnAdd", "OnSet", "OnDestroy"} {
		if e>>i&1 == 0 {
			continue
		}
		if text != "" {
			text += "|"
		}
		text += name
	}
	if text == "" || e >= 1<<events {
		return "unknown"
	}
	return text
}
