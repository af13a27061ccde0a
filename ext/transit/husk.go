package transit

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// ErrAway is returned for an entity that is under way, by Gate.Send, Tx.Destroy and world.Copy.
var ErrAway = engine.ErrAway

// away is the only component of an entity that is under way, in the world that it has left. What
// the entity was is in the item to the world To that has Root as its root. Its handle, its name and
// its places in relations are here, so that it can come back. Self tells it from a copy of its row.
// Both are plain numbers, because a copy would replace handles.
type away struct {
	To   World
	Root uint64
	Self uint64
}

// leaving is a root that is in an item.
type leaving struct {
	to World
	n  uint64
}

// openGates makes the world ready for travellers: what it needs for that costs others nothing.
func (r *Roads) openGates() {
	if r.husks != nil {
		return
	}
	r.husks = world.Register[away](r.w, r.name+" away")
	for id := range r.engine.Components(r.husks).All {
		r.husk = id
	}
	r.engine.Guard(guard{r}, r.husks)
}

// Away returns where an entity has been sent to, and the number of its item, if it is under way; 0
// in the transaction that sends it, and when the other world has decided. It may be asked by a
// *Context, *EntityContext or *Tx, and by the *World if that is idle. Until the other world has
// decided, such an entity is alive, without components; messages to it find nobody, and requests to
// change its components are Missing. Within the hooks of its removal, Away tells that it has left
// from that it has died: it reports ok then, too.
func (r *Roads) Away(by world.Actor, h handle.Handle) (to World, n uint64, ok bool) {
	r.engine.MustOwn(by, r.name)
	var x *away
	switch self := engine.Is(by).(type) {
	case *engine.Tx:
		x = r.awayIn((*world.Tx)(self), h)
	case *engine.World:
		self.MustIdle("Roads.Away")
		x = r.awayAt(h)
	case *engine.Port:
		panic(fmt.Sprintf("transit: Roads.Away of %q by a *world.Port, which cannot look into the world; ask by a question or a function", r.name))
	default:
		x = r.awayAt(h)
	}
	if x == nil {
		return 0, 0, false
	}
	if at := r.trees[handle.Handle(x.Root)]; at.to == x.To {
		n = at.n
	}
	return x.To, n, true
}

// awayAt returns what an entity that is away has, or nil, while no row moves.
func (r *Roads) awayAt(h handle.Handle) *away {
	if r.husks == nil {
		return nil
	}
	space := r.engine.Space()
	l := space.Locate(h)
	if l == 0 || !space.Set(l).Has(r.husk) {
		return nil
	}
	return own(mem.As[away](mem.Pointer{Address: space.Columns[r.husk].At(l)}), h)
}

// awayIn is awayAt as a transaction sees it.
func (r *Roads) awayIn(tx *world.Tx, h handle.Handle) *away {
	if r.husks == nil {
		return nil
	}
	if x, ok := r.husks.Get(tx, h); ok {
		return own(&x, h)
	}
	return nil
}

// own returns x if it is of this entity, and not of one that it was copied from.
func own(x *away, h handle.Handle) *away {
	if x.Self != uint64(h) {
		return nil
	}
	return x
}

// holds reports whether the item of something that is away may still come back.
func (r *Roads) holds(x *away) bool {
	return r.trees[handle.Handle(x.Root)].to == x.To
}

// guard is Roads as an Extension: it lets nobody but transit destroy what is away.
type guard struct{ r *Roads }

// Name returns the name of the roads.
func (g guard) Name() string { return g.r.name }

// Guards reports whether an entity may come back.
func (g guard) Guards(h handle.Handle) bool {
	if planted == dieWithParent {
		return false
	}
	if len(g.r.trees) == 0 || h == handle.None {
		return len(g.r.trees) > 0
	}
	x := g.r.awayAt(h)
	return x != nil && g.r.holds(x)
}

// Left reports whether an entity is away, or has been until now.
func (g guard) Left(h handle.Handle) bool { return g.r.awayAt(h) != nil }

// Begin, Spare, Spread and Settle have nothing to do.
func (guard) Begin()                       {}
func (guard) Spare(*extend.DyingSet) bool  { return false }
func (guard) Spread(*extend.DyingSet, int) {}
func (guard) Settle()                      {}

// Follows reports that no entity dies because one that is away does.
func (guard) Follows() bool { return true }

// fewAlong is up to how many entities one is found among by looking at all.
const fewAlong = 16

// along returns an entity with all below it, and about how many bytes of a transaction their
// components take. What is away already, or dies in this tick, stays, with all below it.
func (r *Roads) along(t *engine.Tx, root handle.Handle) (all []handle.Handle, bytes int, err error) {
	all = append(r.tree[:0], root)
	defer func() { r.tree = all[:0] }()
	relations := r.relations()
	var seen map[handle.Handle]bool
	for k := 0; k < len(all); k++ {
		h := all[k]
		row, ok := t.Row(h)
		if !ok {
			return all, 0, world.ErrStale
		}
		bytes += entityWork
		for id := range row.Set.All {
			bytes += int(r.engine.Space().TypeOf(id).Size)
		}
		was := len(all)
		for _, x := range relations {
			all = x.AppendFollowers(t, all, h)
		}
		if len(all) == was {
			continue
		}
		if seen == nil && len(all) > fewAlong {
			seen = make(map[handle.Handle]bool, len(all))
			for _, h := range all[:was] {
				seen[h] = true
			}
		}
		n := was
		for _, h := range all[was:] {
			switch {
			case seen[h] || seen == nil && slices.Contains(all[:n], h):
			case !t.Living(h) || r.awayIn((*world.Tx)(t), h) != nil:
			default:
				if all[n] = h; seen != nil {
					seen[h] = true
				}
				n++
			}
		}
		if all = all[:n]; n > EntitiesMax {
			return all, 0, ErrTooLarge
		}
	}
	return all, bytes, nil
}

// relations returns the relations in which what is below a traveller goes along.
func (r *Roads) relations() []engine.Insertable {
	all := r.follow[:0]
	for _, x := range (*engine.Survey)(r.engine).Extensions() {
		if i, ok := x.(engine.Insertable); ok && !i.Unique() && (r.options.Relations == nil || slices.Contains(r.options.Relations, x.Name())) {
			all = append(all, i)
		}
	}
	r.follow = all
	return all
}

// mustHaveRelations panics for a relation of the options that the world does not have.
func (r *Roads) mustHaveRelations() {
	for _, name := range r.options.Relations {
		if !slices.ContainsFunc(r.relations(), func(x engine.Insertable) bool { return x.(extend.Base).Name() == name }) {
			panic(fmt.Sprintf("transit: RegisterGate of %q, whose Options.Relations have %q; make that relation before", r.name, name))
		}
	}
}
