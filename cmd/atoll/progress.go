package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	barAfter = 500 * time.Millisecond // nothing is shown before
	barEvery = 100 * time.Millisecond
	barWidth = 30
)

// progress is a progress bar on a terminal. The zero value shows nothing.
type progress struct {
	to          io.Writer // nil: no terminal
	now         func() time.Time
	what        string
	began, told time.Time
	done, total int64 // total is 0 if it is not known
}

// newProgress returns a bar on stderr for some work, which shows nothing if stderr is no terminal.
func newProgress(stderr io.Writer, what string) *progress {
	p := &progress{what: what, now: time.Now}
	if isTerminal(stderr) {
		p.to = stderr
	}
	return p
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// add counts what was done.
func (p *progress) add(n int) {
	if p.to == nil {
		return
	}
	now := p.now()
	if p.began.IsZero() {
		p.began, p.told = now, now.Add(barAfter-barEvery)
	}
	p.done += int64(n)
	if now.Sub(p.told) < barEvery {
		return
	}
	p.told = now
	if p.total <= 0 {
		_, _ = fmt.Fprintf(p.to, "\r%s %.1f MB", p.what, float64(p.done)/1e6)
		return
	}
	part := min(float64(p.done)/float64(p.total), 1)
	full := int(part * barWidth)
	_, _ = fmt.Fprintf(p.to, "\r%s [%s%s] %3.0f %%", p.what, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*part)
}

// end removes the bar.
func (p *progress) end() {
	if p.done > 0 && p.now().Sub(p.began) >= barAfter {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
	}
}

// Write counts bytes that are written elsewhere.
func (p *progress) Write(b []byte) (int, error) {
	p.add(len(b))
	return len(b), nil
}

// reader returns a reader of r that counts what is read.
func (p *progress) reader(r io.Reader, size int64) io.Reader {
	p.total += size
	return io.TeeReader(r, p)
}
