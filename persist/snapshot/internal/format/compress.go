package format

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Compression is how the bodies of sections are compressed.
type Compression uint8

// The compressions.
const (
	Zstd Compression = iota
	S2
	None
)

// String returns the compression as a lower-case word.
func (c Compression) String() string {
	switch c {
	case Zstd:
		return "zstd"
	case S2:
		return "s2"
	case None:
		return "none"
	}
	return fmt.Sprintf("compression %d", uint8(c))
}

// A compressed body is a sequence of blocks, each compressed by itself and of limited size, so that
// a false size cannot make a reader allocate much:
//
//	length │ stored │ stored bytes    4, 4 bytes; stored is length for an uncompressed block
const (
	blockMax  = 1 << 20
	blockHead = 8
	// blockSpare is room that the decompressor needs after a block.
	blockSpare = 64
)

// One of each is enough: EncodeAll and DecodeAll are safe for concurrent use.
var (
	zstdWriter = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false)))
	})
	zstdReader = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(blockMax), zstd.WithDecoderConcurrency(0)))
	})
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Pack compresses a body.
func Pack(how Compression, dst, body []byte) []byte {
	for len(body) > 0 {
		block := body[:min(len(body), blockMax)]
		body = body[len(block):]
		at := len(dst)
		dst = append(dst, make([]byte, blockHead)...)
		switch how {
		case Zstd:
			dst = zstdWriter().EncodeAll(block, dst)
		case S2:
			dst = append(dst, s2.Encode(nil, block)...)
		}
		if len(dst)-at-blockHead >= len(block) {
			dst = append(dst[:at+blockHead], block...)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(block)))
		binary.LittleEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-blockHead))
	}
	return dst
}

// Unpack undoes Pack.
func Unpack(how Compression, dst, body []byte, length int) ([]byte, error) {
	for len(body) > 0 {
		if len(body) < blockHead {
			return dst, extend.ErrBody
		}
		n, stored := int64(binary.LittleEndian.Uint32(body)), int64(binary.LittleEndian.Uint32(body[4:]))
		body = body[blockHead:]
		if n == 0 || n > blockMax || stored > int64(len(body)) || n > int64(length-len(dst)) {
			return dst, fmt.Errorf("a block of %d bytes, %d stored, does not fit", n, stored)
		}
		block, at := body[:stored], len(dst)
		body = body[stored:]
		dst = slices.Grow(dst, int(n)+blockSpare)
		out, err := block, error(nil)
		switch {
		case stored == n:
		case how == Zstd:
			out, err = zstdReader().DecodeAll(block, dst[at:at:cap(dst)])
		default:
			if length, e := s2.DecodedLen(block); e != nil || int64(length) != n {
				return dst, fmt.Errorf("a block has %d bytes, and says %d", length, n)
			}
			out, err = s2.Decode(dst[at:at+int(n)], block)
		}
		if err == nil && int64(len(out)) != n {
			err = fmt.Errorf("a block has %d bytes, and says %d", len(out), n)
		}
		if err != nil {
			return dst, err
		}
		if dst = dst[:at+int(n)]; &out[0] != &dst[at] {
			copy(dst[at:], out)
		}
	}
	if len(dst) != length {
		return dst, fmt.Errorf("its blocks have %d bytes, want %d", len(dst), length)
	}
	return dst, nil
}
