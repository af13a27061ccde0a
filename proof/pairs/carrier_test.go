package pairs_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/world"
)

// The transactions of Roads that a carrier asks for. Package transit keeps them to itself, with the
// types of what they take and return.
const (
	turning  = "turning"
	arriving = "arriving"
)

// parcel is what a carrier has in hand: a packet, or answers.
type parcel struct{ reflect.Value }

// step returns a transaction of Roads.
func step(r *transit.Roads, name string) reflect.Value {
	f := reflect.ValueOf(r).Elem().FieldByName(name)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// emptyParcel is what a carrier begins with: a packet that tells nothing.
func emptyParcel(r *transit.Roads, from, to transit.World) parcel {
	p := reflect.New(step(r, arriving).MethodByName("Run").Type().In(1)).Elem()
	p.FieldByName("From").SetUint(uint64(from))
	p.FieldByName("To").SetUint(uint64(to))
	return parcel{p}
}

// bring has a transaction run at once on an idle world.
func bring(r *transit.Roads, name string, by *world.World, p parcel) (parcel, error) {
	got := step(r, name).MethodByName("Run").Call([]reflect.Value{reflect.ValueOf(by), p.Value})
	err, _ := got[1].Interface().(error)
	return parcel{got[0]}, err
}

// bringBy has a port ask for a transaction. The functions return what it waits for and what it has got.
func bringBy(r *transit.Roads, name string, by *world.Port, p parcel) (done *world.Completion, value func() parcel, err error) {
	m := step(r, name).MethodByName("Send")
	a := reflect.New(m.Type().In(2).Elem())
	err, _ = m.Call([]reflect.Value{reflect.ValueOf(by), p.Value, a})[0].Interface().(error)
	value = func() parcel { return parcel{a.MethodByName("Value").Call(nil)[0]} }
	return a.Elem().FieldByName("Completion").Addr().Interface().(*world.Completion), value, err
}

// number returns a number of a parcel.
func (p parcel) number(field string) uint64 { return p.FieldByName(field).Uint() }

// hash returns a hash of all that is in a parcel.
func (p parcel) hash() uint64 { return text(fmt.Append(nil, p.Value)) }

// refused returns what answers refuse, by the number of the item.
func (p parcel) refused() map[uint64]transit.Reason {
	all, n := map[uint64]transit.Reason{}, p.number("Acked")
	for b := []byte(p.FieldByName("Refused").String()); len(b) > 0; {
		d, size := binary.Uvarint(b)
		n += d
		all[n] = transit.Reason(b[size])
		b = b[size+1:]
	}
	return all
}
