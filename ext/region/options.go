package region

import (
	"errors"
	"fmt"
	"math"
)

// DefaultLimit is the default of Options.Limit.
const DefaultLimit = 4096

// defaultMargin is the default of Options.Margin, in shorter sides of a region.
const defaultMargin = 1.0 / 16

// Options shape a Grid. The zero value of a field means its default; Width and
// Height have none. Lengths are in the units of the positions.
type Options struct {
	// X and Y are the least coordinates of the area that is divided, Width and
	// Height its size. What is outside of it belongs to the nearest region.
	X, Y, Width, Height float64
	// Columns and Rows are how many regions there are each way, Columns·Rows no
	// more than the world has shards. Region number row·Columns + column is the
	// shard of that number; shards beyond are left empty. Default, of both: as many
	// as there are shards, Rows being the largest number of rows that divides that
	// and does not exceed Columns.
	Columns, Rows int
	// Margin is how far beyond the border an entity must be before it is moved, so that one that
	// walks along the border is not moved in every tick. Default: a sixteenth of the shorter side
	// of a region.
	Margin float64
	// Limit is how many entities leave a shard in one tick at most; the others
	// follow in the next ticks. Default: DefaultLimit.
	Limit int
}

// validate fills in the defaults and names every limit that is broken.
func (o Options) validate(shards int) (Options, error) {
	var errs []error
	must := func(ok bool, format string, values ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("region: "+format, values...))
		}
	}
	must(finite(o.X), "X is %v, want a finite number", o.X)
	must(finite(o.Y), "Y is %v, want a finite number", o.Y)
	must(finite(o.Width) && o.Width > 0, "Width is %v, want more than 0", o.Width)
	must(finite(o.Height) && o.Height > 0, "Height is %v, want more than 0", o.Height)
	must(!finite(o.X) || !finite(o.Width) || finite(o.X+o.Width), "X and Width are %v and %v, want a finite sum", o.X, o.Width)
	must(!finite(o.Y) || !finite(o.Height) || finite(o.Y+o.Height), "Y and Height are %v and %v, want a finite sum", o.Y, o.Height)
	if o.Columns == 0 && o.Rows == 0 {
		o.Columns, o.Rows = Divide(shards)
	}
	must(o.Columns > 0 && o.Rows > 0 && o.Columns <= shards && o.Rows <= shards/max(o.Columns, 1),
		"there are %d columns and %d rows, want 1 or more of each, together no more regions than the %d shards, or 0 of both for as many", o.Columns, o.Rows, shards)
	must(finite(o.Margin) && o.Margin >= 0, "Margin is %v, want more than 0, or 0 for a sixteenth of a region", o.Margin)
	must(o.Limit >= 0, "Limit is %d, want 1 or more, or 0 for %d", o.Limit, DefaultLimit)
	if err := errors.Join(errs...); err != nil {
		return o, err
	}
	if o.Margin == 0 {
		o.Margin = defaultMargin * min(o.Width/float64(o.Columns), o.Height/float64(o.Rows))
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	return o, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Divide returns the default number of columns and rows for a number of shards:
// the most nearly square grid of exactly as many regions.
func Divide(shards int) (columns, rows int) {
	for rows = int(math.Sqrt(float64(shards))); rows > 1 && shards%rows != 0; rows-- {
	}
	rows = max(rows, 1)
	return shards / rows, rows
}
