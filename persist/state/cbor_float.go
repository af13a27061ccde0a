package state

import (
	"bytes"
	"encoding/binary"
	"math"
)

// cborReader reads a float32 by way of a float64, which makes a signalling NaN quiet. The value that
// is read must be the one that was written, to the last bit: its hash is.

// float32InCBOR is the first byte of a float32; four follow.
const float32InCBOR = 0xfa

// maySignal reports whether CBOR may have a float32 that is a signalling NaN. It may also be other
// bytes, of a text.
func maySignal(src []byte) bool {
	for {
		at := bytes.IndexByte(src, float32InCBOR)
		if at < 0 || len(src) < at+5 {
			return false
		}
		src = src[at+1:]
		if n := binary.BigEndian.Uint32(src); n&0x7fc00000 == 0x7f800000 && n&0x3fffff != 0 {
			return true
		}
	}
}

// float32Bits is a float32 that is read bit by bit.
type float32Bits uint32

// UnmarshalCBOR reads what a float32 is written as.
func (f *float32Bits) UnmarshalCBOR(src []byte) error {
	if len(src) == 5 && src[0] == float32InCBOR {
		*f = float32Bits(binary.BigEndian.Uint32(src[1:]))
		return nil
	}
	var v float32
	err := cborReader.Unmarshal(src, &v)
	*f = float32Bits(math.Float32bits(v))
	return err
}
