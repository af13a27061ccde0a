package inputlog_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// withHeader returns a log that is the header of another, with a body that is changed.
func withHeader(in []byte, change func(body []byte) []byte) []byte {
	n := 13 + int(binary.LittleEndian.Uint32(in[9:]))
	body := change(bytes.Clone(in[13:n]))
	out := binary.LittleEndian.AppendUint32(append(bytes.Clone(in[:8]), 'H'), uint32(len(body)))
	return summed(append(append(out, body...), make([]byte, 8)...))
}

// TestForgedHeader changes bytes of a header, with the checksum right: whoever reads it gets an
// error or a Log, and says whether that fits.
func TestForgedHeader(t *testing.T) {
	w, _ := shore(t, world.Options{Shards: 3})
	whole := forged(t, func(body []byte) []byte { return body })
	r := rand.New(rand.NewPCG(1, 2))
	opened, fit := 0, 0
	for range 3000 {
		log := withHeader(whole, func(body []byte) []byte {
			for range 1 + r.IntN(3) {
				switch at := r.IntN(len(body)); r.IntN(3) {
				case 0:
					body[at] = byte(r.IntN(256))
				case 1:
					body[at] += byte(r.IntN(5)) - 2
				case 2:
					body = append(body[:at:at], body[min(len(body), at+r.IntN(9)):]...)
				}
			}
			return body
		})
		l, err := inputlog.Open(bytes.NewReader(log))
		if err != nil {
			require.ErrorIs(t, err, inputlog.ErrAltered)
			continue
		}
		opened++
		if err := l.Fits(w, nil); err == nil {
			fit++
		} else {
			require.ErrorIs(t, err, inputlog.ErrOtherWorld)
		}
	}
	require.Positive(t, opened)
	require.Positive(t, fit)
}

// TestHugeHeader has a header with millions of empty names, which takes little room in the file.
func TestHugeHeader(t *testing.T) {
	whole := forged(t, func(body []byte) []byte { return body })
	const many = 4 << 20
	for name, list := range map[string]func(body []byte) []byte{
		"settings": func(b []byte) []byte { return append(binary.AppendUvarint(b, many), make([]byte, 2*many)...) },
		"lists": func(b []byte) []byte {
			return append(binary.AppendUvarint(append(b, 0), many), make([]byte, 2*many)...)
		},
		"names": func(b []byte) []byte {
			return append(binary.AppendUvarint(append(b, 0, 1, 0), many), make([]byte, many)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := withHeader(whole, func(body []byte) []byte {
				program := append([]byte{0}, 0, 0, 0, 0, 0) // no note; no version, revision, arch, time
				return append(list(append(program, make([]byte, 24)...)), 0, 0)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := inputlog.Open(bytes.NewReader(log))
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, inputlog.ErrAltered)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*len(log)))
		})
	}
}
