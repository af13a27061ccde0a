package state

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// kind is how a kind of requests is hashed. Its number may be different in another world, where
// something else is registered before it, such as a prefab.
type kind struct {
	name  string
	alike int   // how many earlier kinds have that name
	form  *form // of its value; nil: it has none, or none was seen
}

// learnKinds names the kinds that are new.
func (h *Hasher) learnKinds(kinds store.Kinds) {
	for i := len(h.kinds); i < kinds.Len(); i++ {
		d, _ := kinds.Describe(i)
		h.kinds = append(h.kinds, kind{name: d.Name, alike: h.alike[d.Name]})
		h.alike[d.Name]++
	}
}

// requests hashes what systems and functions have sent and no refresh has applied
// yet: from a shard, or with world.AllShards from global systems.
func (h *Hasher) requests(v *engine.Survey, from int) (err error) {
	h.sum.Reset()
	kinds := v.Kinds()
	v.Requests(from, func(r queue.PendingRequest) {
		h.learnKinds(kinds)
		k := &h.kinds[r.Kind()]
		h.sum.text(k.name)
		h.sum.number(uint64(k.alike))
		h.sum.number(uint64(r.Flags()))
		h.sum.number(uint64(r.Handle))
		value := kinds.Payload(r)
		if value.Type == nil || err != nil {
			return
		}
		if k.form == nil {
			if k.form, err = h.codecs.form(value.Type, false); err != nil {
				err = fmt.Errorf("%w (%s)", err, k.name)
				return
			}
		}
		h.scratch = k.form.Append(h.scratch[:0], value)
		h.sum.bytes(h.scratch)
	})
	return err
}
