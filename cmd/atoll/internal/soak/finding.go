package soak

import (
	"fmt"
	"io"
	"sync"
)

// violationsShown is how many violations are listed; more are counted.
const violationsShown = 20

// findings are the violations of a run.
//
// Ownership: any goroutine may add.
type findings struct {
	live io.Writer

	mu struct {
		sync.Mutex
		n     uint64
		texts []string
	}
}

func (f *findings) violate(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.n++
	if len(f.mu.texts) < violationsShown {
		text := fmt.Sprintf(format, args...)
		f.mu.texts = append(f.mu.texts, text)
		_, _ = fmt.Fprintf(f.live, "VIOLATION %s\n", text)
	}
}

// expect is violated by two figures that should be the same.
func (f *findings) expect(what string, got, want uint64) {
	if got != want {
		f.violate("%s: %d, want %d", what, got, want)
	}
}

func (f *findings) all() (n uint64, texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.n, append([]string(nil), f.mu.texts...)
}
