package shape

import (
	"encoding/binary"
	"math"
	"math/bits"
	"reflect"
)

// This file reads and writes numbers as they are in memory.

// sizes are the sizes of kinds that are written as memory.
var sizes = [...]int{
	reflect.Bool: 1, reflect.Int: bits.UintSize / 8, reflect.Int8: 1, reflect.Int16: 2, reflect.Int32: 4, reflect.Int64: 8,
	reflect.Uint: bits.UintSize / 8, reflect.Uint8: 1, reflect.Uint16: 2, reflect.Uint32: 4, reflect.Uint64: 8,
	reflect.Uintptr: bits.UintSize / 8, reflect.Float32: 4, reflect.Float64: 8, reflect.Complex64: 8, reflect.Complex128: 16,
}

// SizeOf returns the size of a kind that is written as memory.
func SizeOf(k reflect.Kind) int { return sizes[k] }

// Exact returns how many bits of an integer a kind of number holds, and whether negative ones, too.
func Exact(k reflect.Kind) (width int, signed bool) {
	switch {
	case k == reflect.Float32:
		return 24, true
	case k == reflect.Float64:
		return 53, true
	case k >= reflect.Int && k <= reflect.Int64:
		return sizes[k]*8 - 1, true
	}
	return sizes[k] * 8, false
}

// IsNumber reports whether a kind is an integer or a float.
func IsNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// IsFloat reports whether a kind is a float.
func IsFloat(k reflect.Kind) bool { return k == reflect.Float32 || k == reflect.Float64 }

// Lossless reports whether a kind of number holds each value of another.
func Lossless(from, to reflect.Kind) bool {
	a, negative := Exact(from)
	b, signed := Exact(to)
	return a <= b && (signed || !negative) && (IsFloat(to) || !IsFloat(from))
}

// Numbers reads numbers: signed ones as int64, others as uint64, floats as float64.
func Numbers(to []uint64, kind reflect.Kind, src []byte, apart int) {
	ne := binary.NativeEndian
	signed := kind <= reflect.Int64
	switch size := sizes[kind]; {
	case kind == reflect.Float32:
		for i := range to {
			to[i] = math.Float64bits(float64(math.Float32frombits(ne.Uint32(src[i*apart:]))))
		}
	case kind == reflect.Bool:
		for i := range to {
			to[i] = uint64(src[i*apart] & 1)
		}
	case size == 8:
		for i := range to {
			to[i] = ne.Uint64(src[i*apart:])
		}
	case size == 4 && signed:
		for i := range to {
			to[i] = uint64(int32(ne.Uint32(src[i*apart:])))
		}
	case size == 4:
		for i := range to {
			to[i] = uint64(ne.Uint32(src[i*apart:]))
		}
	case size == 2 && signed:
		for i := range to {
			to[i] = uint64(int16(ne.Uint16(src[i*apart:])))
		}
	case size == 2:
		for i := range to {
			to[i] = uint64(ne.Uint16(src[i*apart:]))
		}
	case signed:
		for i := range to {
			to[i] = uint64(int8(src[i*apart]))
		}
	default:
		for i := range to {
			to[i] = uint64(src[i*apart])
		}
	}
}

// PutNumbers writes numbers as Numbers would read them.
func PutNumbers(all []uint64, kind reflect.Kind, dst []byte, apart int) {
	ne := binary.NativeEndian
	switch size := sizes[kind]; {
	case kind == reflect.Float32:
		for i, v := range all {
			ne.PutUint32(dst[i*apart:], math.Float32bits(float32(math.Float64frombits(v))))
		}
	case size == 8:
		for i, v := range all {
			ne.PutUint64(dst[i*apart:], v)
		}
	case size == 4:
		for i, v := range all {
			ne.PutUint32(dst[i*apart:], uint32(v))
		}
	case size == 2:
		for i, v := range all {
			ne.PutUint16(dst[i*apart:], uint16(v))
		}
	default:
		for i, v := range all {
			dst[i*apart] = byte(v)
		}
	}
}
