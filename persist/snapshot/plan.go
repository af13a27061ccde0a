package snapshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

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
	// Text says what Load does. If Load refuses, it says why, and which Change to declare.
	Text    string
	Refused bool
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

// Refused returns the differences for which Load returns ErrOtherWorld.
func (p Plan) Refused() (list []Difference) {
	return slices.Collect(func(yield func(Difference) bool) {
		for _, d := range p.Differences {
			if d.Refused && !yield(d) {
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
		if d.Refused {
			does = "refuses"
		}
		_, _ = fmt.Fprintf(&b, "%s  %s\n", does, d)
	}
	_, _ = fmt.Fprintf(&b, "%d differences, %d refused\n", len(p.Differences), len(p.Refused()))
	return b.String()
}

// err returns the error of Load.
func (p Plan) err() error {
	switch all := p.Refused(); len(all) {
	case 0:
		return nil
	case 1:
		return format.OtherWorld("%v", all[0])
	default:
		text := ""
		for _, d := range all {
			text += "\n\t" + d.String()
		}
		return format.OtherWorld("%d differences:%s", len(all), text)
	}
}
