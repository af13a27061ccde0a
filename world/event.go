package world

// Event is what can happen to an entity, as far as hooks are told; or several, joined
// by |.
type Event uint8

// The events, in the order in which hooks are told of them.
const (
	// OnCreate tells of entities that were created with all of the hook's components.
	OnCreate Event = 1 << iota
	// OnRemove tells of entities that had all of the components and have not now. The
	// values are gone.
	OnRemove
	// OnAdd tells of entities that have all of the components now and had not.
	OnAdd
	// OnSet tells of entities that have all of the components and of which one was
	// stored anew: by Set, or by Add or Exchange of what they had. What is written
	// through a Writer or an EntityContext is not told of; ask Query.ChunksSince for that.
	OnSet
	// OnDestroy tells of entities that have all of the components and die in this
	// refresh. The components hold their last values.
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
