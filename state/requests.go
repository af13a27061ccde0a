package state

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/queue"
)

// requests hashes what systems, and functions in a refresh, have sent and no refresh
// has applied: from a shard, or with world.AllShards that of global systems.
func (h *Hasher) requests(v drive.Survey, from int) (err error) {
	h.sum.Reset()
	kinds := v.Kinds()
	v.Requests(from, func(r queue.PendingRequest) {
		h.sum.number(uint64(r.Kind()))
		h.sum.number(uint64(r.Flags()))
		h.sum.number(uint64(r.Handle))
		value := kinds.Payload(r)
		if value.Type == nil || err != nil {
			return
		}
		form := h.forms[r.Kind()]
		if form == nil {
			d, _ := kinds.Describe(r.Kind())
			if form, err = h.codecs.form(value.Type, false); err != nil {
				err = fmt.Errorf("%w (%s)", err, d.Name)
				return
			}
			h.forms[r.Kind()] = form
		}
		h.scratch = form.Append(h.scratch[:0], value)
		h.sum.bytes(h.scratch)
	})
	return err
}
