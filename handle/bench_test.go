package handle_test

import (
	"testing"

	"github.com/atoll-sim/atoll/handle"
)

// benchHandles are a short, a usual and the longest handle.
var benchHandles = []handle.Handle{
	handle.New(0, 0, 1),
	handle.New(31, 104_729, 52),
	handle.New(handle.HomeMax, handle.IndexMax, handle.VersionMax),
}

func BenchmarkNew(b *testing.B) {
	i := uint32(0)
	for b.Loop() {
		sinkHandle = handle.New(i&handle.HomeMax, i&handle.IndexMax, 1)
		i++
	}
}

func BenchmarkFields(b *testing.B) {
	h := benchHandles[1]
	for b.Loop() {
		sinkUint32 = h.Home() + h.Index() + h.Version()
		h++
	}
}

func BenchmarkString(b *testing.B) {
	for _, h := range benchHandles {
		b.Run(h.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkString = h.String()
			}
		})
	}
}

func BenchmarkAppendText(b *testing.B) {
	buf := make([]byte, 0, 64)
	for _, h := range benchHandles {
		b.Run(h.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkBytes, _ = h.AppendText(buf)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, h := range benchHandles {
		text := h.String()
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				sinkHandle, _ = handle.Parse(text)
			}
		})
	}
}

func BenchmarkParseRefused(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sinkHandle, _ = handle.Parse("3:01047@5")
	}
}
