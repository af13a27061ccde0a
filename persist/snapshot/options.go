package snapshot

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/schema"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Options say what belongs to a snapshot besides the world. Pass the same to Write and Load. The
// zero value is for a world without codecs and scheduler.
type Options struct {
	// Codecs are those of the types that have one. Their functions are called by one goroutine
	// at a time.
	Codecs *state.Codecs
	// Scheduler, if not nil, is that of the world. It is saved, too: which systems are enabled, and
	// on which shards.
	Scheduler *scheduler.Scheduler
	// Extras are state outside the world.
	Extras []Extra
	// Compression is how Write compresses. Load detects it.
	Compression Compression
	// Workers is the number of goroutines that encode and decode. Default: GOMAXPROCS. It does not
	// change the bytes.
	Workers int
	// OtherOptions makes Load accept a world with another Seed, TickInterval or KeepOrder, which
	// decide what happens next. Without it they must be equal. IndexMax and VersionMax, which shape
	// handles, must always be equal. All others may differ: they count for what is new. Of Shards see
	// Load.
	OtherOptions bool
	// Changes say what becomes of something in a snapshot that the world no longer has, or has in
	// another form. Load applies them; PlanLoad returns which are needed.
	Changes []Change
	// BytesMax is the most memory that Load takes for rows, including room for more of them; in
	// addition for what slices, maps and pointers in values hold; and for any other section while
	// it is read. Default: 1 GB each, and 64 bytes for each uncompressed byte that describes rows,
	// or values. text.Export and text.Import say how they use it.
	BytesMax int64
}

// Extra is state outside the world, under a name: what a game keeps outside of components and
// resources.
type Extra struct {
	Name string
	// Append appends the state to dst. The same state must give the same bytes.
	Append func(dst []byte) []byte
	// Read restores the state that Append wrote. It must not keep src. Its error ends the load.
	Read func(src []byte) error
	// Optional lets a Load whose Options have no Extra of this name leave the state out. Without
	// it such a Load refuses the snapshot. It counts when the snapshot is written.
	Optional bool
}

// Compression is how a snapshot is compressed.
type Compression uint8

// The compressions.
const (
	Zstd = Compression(format.Zstd) // small
	S2   = Compression(format.S2)   // fast
	None = Compression(format.None) // as it is in memory
)

// String returns the compression as a lower-case word.
func (c Compression) String() string { return format.Compression(c).String() }

// validate fills in the defaults. It panics about invalid options.
func (o *Options) validate(call string) {
	if o.Workers < 0 || o.BytesMax < 0 || o.Compression > None {
		panic(fmt.Sprintf("snapshot: %s with options that have a negative number, or no compression: %d workers, %d bytes, %v", call, o.Workers, o.BytesMax, o.Compression))
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	known := map[string]bool{}
	for _, x := range o.Extras {
		if x.Name == "" || known[x.Name] || x.Append == nil || x.Read == nil {
			panic(fmt.Sprintf("snapshot: %s with an Extra named %q; each needs a name that no other has, and both functions", call, x.Name))
		}
		known[x.Name] = true
	}
}

// enter is called first by what saves or loads a world, which must be idle. It validates the
// options, and changes nothing. The error is world.ErrClosed, or why the world is broken.
func enter(w *world.World, call string, o *Options) (d *engine.World, err error) {
	short := strings.TrimPrefix(call, "snapshot.")
	if w == nil {
		panic("snapshot: " + short + " with a nil World; pass one of world.New")
	}
	o.validate(short)
	if o.Scheduler != nil && o.Scheduler.World() != w {
		panic("snapshot: " + short + " with Options.Scheduler of another world; pass the one of this world")
	}
	if err := w.Err(); err != nil {
		return d, err
	}
	d = engine.Of(w)
	d.MustIdle(call)
	return d, nil
}

// Change says what becomes of something in a snapshot that the world no longer has, or has in
// another form. Changes are applied in their order, each only if a snapshot needs it. So a program
// keeps them as long as there are older snapshots, and passes them for newer ones, too.
type Change struct {
	is schema.Change
}

// Renamed says that a component, message, resource, function, extension, hook, system or Extra has
// another name now. It applies to each of them that has the old name in the snapshot and the new
// one in the world. A type that a state.Codec writes, such as "game.Item", can be renamed as well.
// Renamed does nothing if the world still has the old name and lacks the new one, or if the
// snapshot has the new one, too: so the old name may be used again.
func Renamed(old, now string) Change {
	return Change{schema.Change{Kind: schema.Renamed, From: old, To: now}}
}

// RenamedField says that a field of a component, message, resource, or argument of a function, a
// transaction or a Call of async has another name now. It holds for a message's timers and for
// requests about a component's bundles, too. The path of a field within others has dots, such as
// "Place.X". Fields of the elements of arrays, slices and maps belong to the field that holds
// these: "Slots.Count". Of an enum of state.RegisterEnum, by the name of its type, it renames a
// constant. It does nothing in the cases of Renamed.
func RenamedField(of, old, now string) Change {
	return Change{schema.Change{Kind: schema.RenamedField, In: of, From: old, To: now}}
}

// Dropped says that some fields are gone, or without fields everything with that name: Load leaves
// out what was saved of it. Entities stay, without the component; messages and requests under way
// are dropped; of a system, whether it was enabled. A Plan says how much is lost. To lose nothing,
// register the old thing beside the new one until nothing has it. What the world still has, in a
// type that can hold the saved values, is not dropped. So another field may take the name. If that
// could hold the old values, too, use Migrated to say which type they have. A constant of an enum is
// dropped by the name of its type and its own: values become 0, and entries of maps that have it as
// their key are left out. Without a constant the names of all are dropped: a program that does not
// name them, and would be refused, reads the numbers as they are.
func Dropped(name string, fields ...string) Change {
	return Change{schema.Change{Kind: schema.Dropped, In: name, Fields: fields}}
}

// Migrated converts values of a component, message, resource or argument to type New by a function,
// also those that timers and asks under way hold; of a component, also in requests about its bundles.
// Old is a type that has the fields of the saved one, with their names, types and order: what New
// was. Other saved forms are read without the function, and so is a form that differs only in
// constants of enums, unless one is gone. Fields of Old that are enums of this program get its
// numbers, and integers the saved ones. One goroutine at a time calls it, for the values in any
// order.
func Migrated[Old, New any](f func(Old) New) Change {
	if f == nil {
		panic("snapshot: Migrated with a nil function; pass one that makes a new value from an old one")
	}
	return Change{schema.Migration(f)}
}

// changes returns the Changes of the options, as package schema has them.
func (o *Options) changes() schema.Changes {
	all := make(schema.Changes, len(o.Changes))
	for i, c := range o.Changes {
		all[i] = c.is
	}
	return all
}

// Plan is what Load would do about each difference of a snapshot and a world.
type Plan struct {
	Info        Info // of the snapshot
	Differences []Difference
}

// Difference is something in which a snapshot and a world differ.
type Difference struct {
	// Kind and Name say what it is, such as "component" and "health"; Name is its name in the
	// snapshot. Field is the path of a field, if the difference is about one.
	Kind, Name, Field string
	// Was and Is are types, or numbers of options; empty if there is none.
	Was, Is string
	// Text says what Load does. If the difference blocks the load, it says why, and which Change to
	// declare.
	Text   string
	Blocks bool
}

// String returns the difference as a line.
func (d Difference) String() string {
	text := d.Kind
	if d.Name != "" {
		text += " " + strconv.Quote(d.Name)
	}
	if d.Field != "" {
		text += ", field " + d.Field
	}
	switch {
	case d.Was != "" && d.Is != "" && d.Was != d.Is:
		text += fmt.Sprintf(" (%s → %s)", d.Was, d.Is)
	case d.Was+d.Is != "":
		text += fmt.Sprintf(" (%s)", max(d.Was, d.Is))
	}
	return text + ": " + d.Text
}

// Blocking returns the differences for which Load returns ErrOtherWorld.
func (p Plan) Blocking() (list []Difference) {
	return slices.Collect(func(yield func(Difference) bool) {
		for _, d := range p.Differences {
			if d.Blocks && !yield(d) {
				return
			}
		}
	})
}

// String returns the differences line by line, each with what becomes of it.
func (p Plan) String() string {
	var b strings.Builder
	for _, d := range p.Differences {
		does := "loads  "
		if d.Blocks {
			does = "refuses"
		}
		_, _ = fmt.Fprintf(&b, "%s  %s\n", does, d)
	}
	_, _ = fmt.Fprintf(&b, "%d differences, %d refused\n", len(p.Differences), len(p.Blocking()))
	return b.String()
}

// An error names no more differences, and has no more bytes of each.
const differencesMost, differenceMost = 30, 2 << 10

// err returns the error of Load.
func (p Plan) err() error {
	switch all := p.Blocking(); len(all) {
	case 0:
		return nil
	case 1:
		return format.OtherWorld("%v", format.Short(all[0].String(), differenceMost))
	default:
		var text strings.Builder
		for i, d := range all {
			if i == differencesMost {
				_, _ = fmt.Fprintf(&text, "\n\tand %d more", len(all)-i)
				break
			}
			text.WriteString("\n\t" + format.Short(d.String(), differenceMost))
		}
		return format.OtherWorld("%d differences:%s", len(all), text.String())
	}
}

// Errors of Load and Inspect, and of package text. Errors that wrap them say what is wrong, and
// where.
var (
	// ErrNoSnapshot is returned for data that does not begin as a snapshot does.
	ErrNoSnapshot = format.ErrNoSnapshot
	// ErrVersion is returned for a snapshot of another version of the format.
	ErrVersion = format.ErrVersion
	// ErrBase is returned for an increment without the snapshot that it is based on, or with
	// another. The error has the tick and hash of that base.
	ErrBase = format.ErrBase
	// ErrTruncated is returned for a snapshot that ends too soon.
	ErrTruncated = format.ErrTruncated
	// ErrAltered is returned for a snapshot whose bytes are not those that Write wrote, or that
	// has contents that no world can have.
	ErrAltered = format.ErrAltered
	// ErrOtherWorld is returned if the world lacks something that the snapshot has, or has it in
	// another form, and no Options.Changes says what becomes of it. The error lists that, of more
	// than 30 differences the first; PlanLoad lists all.
	ErrOtherWorld = format.ErrOtherWorld
	// ErrNotNew is returned for a world that has given a handle, made a tick, or was sent
	// something.
	ErrNotNew = errors.New("snapshot: the world is not new")
	// ErrTooLarge is returned for a snapshot that would take more memory than Options.BytesMax,
	// and by Write for a part of more than a gigabyte.
	ErrTooLarge = format.ErrTooLarge
	// ErrDiffers is returned if the loaded state has another hash than the saved one, for example
	// because a codec read another value than was written.
	ErrDiffers = errors.New("snapshot: the loaded state differs")
)
