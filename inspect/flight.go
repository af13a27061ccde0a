package inspect

import (
	"fmt"
	"runtime/trace"
	"slices"
	"sync"
	"time"
)

const (
	flightAge   = 5 * time.Second // how far back the trace of the Go runtime goes, approximately
	flightBytes = 8 << 20
	flightsMax  = 4
)

// flights keeps the Go runtime's trace of the last seconds, and copies of it from ticks that
// overran.
//
// Ownership: mu guards the fields after it.
type flights struct {
	recorder *trace.FlightRecorder // nil without Options.GoTraces
	mu       sync.Mutex
	of       []flight // the oldest first
}

// flight is the trace of the Go runtime around a recording of a tick that overran.
type flight struct {
	id   string
	data []byte
}

func (f *flights) start() error {
	f.recorder = trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: flightAge, MaxBytes: flightBytes})
	if err := f.recorder.Start(); err != nil {
		return fmt.Errorf("inspect: GoTraces: %w", err)
	}
	return nil
}

func (f *flights) stop() {
	if f.recorder != nil {
		f.recorder.Stop()
	}
}

// keep keeps the present trace with a recording.
func (f *flights) keep(id string) {
	data := &bounded{most: 4 * flightBytes}
	if _, err := f.recorder.WriteTo(data); err != nil {
		return // another is being written, or the recorder was stopped
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of = append(f.of, flight{id, data.Bytes()})
	f.of = slices.Delete(f.of, 0, max(0, len(f.of)-flightsMax))
}

// find returns the trace of a recording, or nil.
func (f *flights) find(id string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.of {
		if x.id == id {
			return x.data
		}
	}
	return nil
}
