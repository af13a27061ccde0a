package scheduler

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/trace"
	"time"
)

// Flight makes Run keep an execution trace of the last moments in memory, and
// write it to a file when a tick took longer than the budget; `go tool trace`
// shows what happened. While it records, each system on each shard is a region of
// the trace. A process can have one flight recorder at a time.
type Flight struct {
	// Dir is where the files are written, named after the tick. Empty: no
	// recorder.
	Dir string
	// Window is how far back a file goes, at least. Default: 20 tick intervals.
	Window time.Duration
	// BytesMax is about how much memory the trace may take; it overrides Window.
	// Default: the runtime's.
	BytesMax uint64
	// FilesMax is how many files a Run writes, so that a server that is always
	// late does not fill the disk. Default: 8.
	FilesMax int
}

// defaultFlightFiles is the default of Flight.FilesMax.
const defaultFlightFiles = 8

// flight is the recorder of a Run.
//
// Ownership: Run's goroutine.
type flight struct {
	Flight
	recorder *trace.FlightRecorder
	written  int
}

// start starts the recorder, if one is asked for.
func (f Flight) start(interval time.Duration) (*flight, error) {
	if f.Dir == "" {
		return nil, nil
	}
	if f.Window == 0 {
		f.Window = 20 * interval
	}
	if f.FilesMax == 0 {
		f.FilesMax = defaultFlightFiles
	}
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: f.Window, MaxBytes: f.BytesMax})
	if err := r.Start(); err != nil {
		return nil, fmt.Errorf("scheduler: flight recorder: %w", err)
	}
	return &flight{Flight: f, recorder: r}, nil
}

func (f *flight) stop() {
	if f != nil {
		f.recorder.Stop()
	}
}

// dump writes what was recorded to a file, and returns its name, which is empty
// if there was nothing to do.
func (f *flight) dump(tick uint64) (name string, err error) {
	if f == nil || f.written == f.FilesMax {
		return "", nil
	}
	f.written++
	name = filepath.Join(f.Dir, fmt.Sprintf("tick-%d.trace", tick))
	file, err := os.Create(name)
	if err != nil {
		return "", err
	}
	if _, err = f.recorder.WriteTo(file); err == nil {
		return name, file.Close()
	}
	_ = file.Close()
	return "", err
}
