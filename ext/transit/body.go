package transit

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/state"
)

// bodies writes and reads what items say to a program: messages, and what arrives with a traveller.
//
// Ownership: as for Roads.
type bodies[M any] struct {
	form   form.Form
	unsure bool   // methods of the user's may write it
	shape  uint64 // a number for the form
	body   *M     // that is written or read, so that only this one is on the heap
	budget form.Budget
}

// bodyMost is how much memory the slices, maps and pointers of a body may take, whatever it is in
// bytes.
const bodyMost = 16 * ItemBytesMax

// init finds out how a body is written. It panics for one that cannot be; call is for the message.
func (b *bodies[M]) init(call string, codecs *state.Codecs) {
	var err error
	if b.form, err = (*form.Codecs)(codecs).Within(&b.budget).Form(reflect.TypeFor[M](), true); err != nil {
		panic(fmt.Sprintf("transit: %s, which cannot be written (%v); give the type MarshalBinary and UnmarshalBinary, or a codec of Options.Codecs", call, err))
	}
	b.unsure = form.Unsure(b.form)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(strings.Join(append([]string{b.form.Shape()}, b.form.Constants()...), "\n")))
	b.shape, b.body = hash.Sum64(), new(M)
}

// append appends a body. The error is errBody.
func (b *bodies[M]) append(dst []byte, body M) ([]byte, error) {
	*b.body = body
	defer b.clear()
	if !b.unsure {
		return b.form.Append(dst, mem.CellOf(b.body)), nil
	}
	dst, err := b.try(dst)
	switch {
	case errors.Is(err, extend.ErrMemory):
		return nil, ErrTooLarge
	case err != nil:
		return nil, errBody
	}
	return dst, nil
}

// try appends the body, and reads it again, because it may have to come back.
func (b *bodies[M]) try(dst []byte) (_ []byte, err error) {
	err = aside.Do("the message's type", func() error {
		from := len(dst)
		dst = b.form.Append(dst, mem.CellOf(b.body))
		b.clear()
		return b.readTo(b.body, dst[from:])
	})
	return dst, err
}

// held returns how much memory the body that was read last has taken, besides its value.
func (b *bodies[M]) held() int { return bodyMost - int(max(b.budget.Left(), 0)) }

// read reads a body.
func (b *bodies[M]) read(src []byte) (v M, ok bool) {
	defer b.clear()
	if !b.unsure {
		ok = b.readTo(b.body, src) == nil
	} else {
		ok = aside.Do("the message's type", func() error { return b.readTo(b.body, src) }) == nil
	}
	return *b.body, ok
}

func (b *bodies[M]) clear() { *b.body = *new(M) }

func (b *bodies[M]) readTo(v *M, src []byte) error {
	b.budget.Reset(bodyMost, 0)
	rest, err := b.form.Read(src, mem.CellOf(v))
	if err == nil && len(rest) > 0 {
		err = errBody
	}
	return err
}
