package format

import (
	"slices"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Named is something that is registered, by name, with a description of its values.
type Named struct {
	Name  string
	Type  string // empty if there are no values; of an extension its options
	Hash  uint64 // of the form, or of the options that must be the same
	Parts []extend.Part
}

const (
	// Accumulates is in the hash of the form of a resource that has parts.
	Accumulates = 1 << 63
	// Optional is the hash of an Also that a world may lack; others have 0.
	Optional = 1
)

// Catalogue lists everything that a snapshot has.
type Catalogue struct {
	Components, Messages, Resources, Kinds, Hooks, Extensions, Also, Systems, Balancers []Named
	Scheduler                                                                           bool
}

// Listed is the order of the lists in a snapshot, by the names that errors use.
var Listed = [...]string{"component", "message", "resource", "request", "hook", "extension", "also", "system", "balancer"}

// Lists returns the lists in the order of Listed.
func (x *Catalogue) Lists() [len(Listed)]*[]Named {
	return [...]*[]Named{&x.Components, &x.Messages, &x.Resources, &x.Kinds, &x.Hooks, &x.Extensions, &x.Also, &x.Systems, &x.Balancers}
}

// List returns a list by its name in Listed, or nil.
func (x *Catalogue) List(what string) *[]Named {
	if at := slices.Index(Listed[:], what); at >= 0 {
		return x.Lists()[at]
	}
	return nil
}

// Append appends the section of what is registered.
func (x *Catalogue) Append(dst []byte) []byte {
	for _, list := range x.Lists() {
		dst = extend.AppendNumber(dst, len(*list))
		for _, n := range *list {
			dst = extend.AppendText(extend.AppendText(dst, n.Name), n.Type)
			dst = extend.AppendNumber(extend.AppendNumber(dst, n.Hash), len(n.Parts))
			for _, p := range n.Parts {
				dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, extend.FlagsOf(p.ByCodec)), p.Offset), p.Size)
				dst = extend.AppendNumber(dst, len(p.Fields))
				for _, f := range p.Fields {
					dst = extend.AppendNumber(extend.AppendText(extend.AppendText(dst, f.Path), f.Type), f.Offset)
				}
			}
		}
	}
	return extend.AppendNumber(dst, extend.FlagsOf(x.Scheduler))
}

// namesMost bounds the memory of the names and fields of a snapshot.
const namesMost = 64 << 20

// ReadCatalogue reads the section of what is registered.
func ReadCatalogue(body []byte) (x *Catalogue, err error) {
	x = new(Catalogue)
	c := extend.Cursor{Rest: body, Most: namesMost}
	for _, to := range x.Lists() {
		list := extend.ListOf[Named](&c, 4)
		for i := range list {
			n := Named{Name: c.Text(), Type: c.Text(), Hash: c.Number(), Parts: extend.ListOf[extend.Part](&c, 4)}
			for k := range n.Parts {
				p := extend.Part{ByCodec: c.Flags(1) != 0, Offset: c.Int(), Size: c.Int(), Fields: extend.ListOf[extend.Field](&c, 3)}
				for m := range p.Fields {
					p.Fields[m] = extend.Field{Path: c.Text(), Type: c.Text(), Offset: c.Int()}
				}
				n.Parts[k] = p
			}
			list[i] = n
		}
		*to = list
	}
	x.Scheduler = c.Flags(1) != 0
	return x, c.End()
}
