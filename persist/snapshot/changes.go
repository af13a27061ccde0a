package snapshot

import "github.com/atoll-sim/atoll/persist/snapshot/internal/schema"

// Change says what becomes of something in a snapshot that the world no longer has, or has in
// another form. Changes are applied in their order, each only if a snapshot needs it. So a program
// keeps them as long as there are older snapshots, and passes them for newer ones, too.
type Change struct {
	is schema.Change
}

// Renamed says that a component, message, resource, function, extension, hook, system or Also has
// another name now. It applies to each of them that has the old name in the snapshot and the new
// one in the world. A type that a state.Codec writes, such as "game.Item", can be renamed as well.
// Renamed does nothing if the world still has the old name and lacks the new one, or if the
// snapshot has the new one, too: so the old name may be used again.
func Renamed(old, now string) Change {
	return Change{schema.Change{Kind: schema.Renamed, From: old, To: now}}
}

// RenamedField says that a field of a component, message, resource or function's argument has
// another name now. The path of a field within others has dots, such as "Place.X". Fields of the
// elements of arrays, slices and maps belong to the field that holds these: "Slots.Count". It does
// nothing in the cases of Renamed.
func RenamedField(of, old, now string) Change {
	return Change{schema.Change{Kind: schema.RenamedField, In: of, From: old, To: now}}
}

// Dropped says that some fields are gone, or without fields everything with that name: Load leaves
// out what was saved of it. Entities stay, without the component; messages and requests under way
// are dropped; of a system, whether it was enabled. What the world still has, in a type that can
// hold the saved values, is not dropped. So another field may take the name. If that could hold the
// old values, too, use Migrated to say which type they have.
func Dropped(name string, fields ...string) Change {
	return Change{schema.Change{Kind: schema.Dropped, In: name, Fields: fields}}
}

// Narrowed says that fields now have a type that does not hold each value of the old one. Integers
// and floats become the nearest value of the new type, and complex128 the nearest complex64. Floats
// that become integers lose their fraction, and NaN becomes 0. Arrays lose the
// elements at their end.
func Narrowed(of string, fields ...string) Change {
	return Change{schema.Change{Kind: schema.Narrowed, In: of, Fields: fields}}
}

// Migrated converts values of a component, message, resource or function's argument to type New by
// a function. Old is a type that has the fields of the saved one, with their names, types and
// order: what New was. Other saved forms are read without the function. One goroutine at a time
// calls it, for the values in any order.
func Migrated[Old, New any](f func(Old) New) Change {
	if f == nil {
		panic("snapshot: Migrated with a nil function; pass one that makes a new value from an old one")
	}
	return Change{schema.Migration(f)}
}

// changes returns the Changes of the options.
func (o *Options) changes() schema.Changes {
	all := make(schema.Changes, len(o.Changes))
	for i, c := range o.Changes {
		all[i] = c.is
	}
	return all
}
