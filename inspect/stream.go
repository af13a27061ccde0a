package inspect

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// stream is an event stream to one reader. It has no queue: a slow reader gets
// the newest data when it can take more.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context // of the request
}

// beat is the time after which a silent stream writes something, to find out whether the reader is
// still there.
const beat = 15 * time.Second

var errStreams = busy(http.StatusServiceUnavailable, "as many streams are open as ConnectionsMax allows; ask again later")

// open begins a stream, if the limit allows it, and calls f with it. When the Inspector ends, the
// reader gets an event.
func (x *Inspector) open(w http.ResponseWriter, r *http.Request, f func(*stream) error) error {
	if !x.streams.TryAcquire(1) {
		return errStreams
	}
	defer x.streams.Release(1)
	s := &stream{w, http.NewResponseController(w), r.Context()}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	s.ctx = ctx
	if s.write(": hello\n\n") != nil { // so that the reader knows at once, also if there is nothing to send yet
		return nil
	}
	x.samples.look(1)
	defer x.samples.look(-1)
	_ = f(s) // the stream ended, for whatever reason
	_ = s.send("bye", []byte("{}"))
	return nil
}

// send writes an event. It fails if that takes longer than writeWait.
func (s *stream) send(event string, data []byte) error {
	return s.write("event: " + event + "\ndata: " + string(data) + "\n\n")
}

func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWait)) // if the connection has one
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// every calls f, which sends something, at once and then after each interval.
func (s *stream) every(interval time.Duration, f func() error) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		if err := f(); err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// sendOr sends an event, or an error that may pass as the event "error".
func (s *stream) sendOr(event string, data []byte, err error) error {
	switch e := refusalOf(err); {
	case e != nil:
		return s.send("failed", fmt.Appendf(nil, `{"error":%s}`, appendText(nil, e.text)))
	case err != nil:
		return err
	}
	return s.send(event, data)
}

// streamMap sends a map twice a second.
func (x *Inspector) streamMap(w http.ResponseWriter, r *http.Request) error {
	m, err := plotOf(r)
	if err != nil {
		return err
	}
	if _, err := x.mapOf(r.Context(), m); err != nil {
		return err // before the stream begins, so that the error has a status
	}
	return x.open(w, r, func(s *stream) error {
		return s.every(500*time.Millisecond, func() error {
			body, err := x.mapOf(s.ctx, m)
			return s.sendOr("map", body, err)
		})
	})
}

// streamEntity sends an entity 4 times a second.
func (x *Inspector) streamEntity(w http.ResponseWriter, r *http.Request) error {
	h, err := entityOf(r)
	if err != nil {
		return err
	}
	return x.open(w, r, func(s *stream) error {
		return s.every(250*time.Millisecond, func() error {
			body, err := x.entityOf(s.ctx, h)
			return s.sendOr("entity", body, err)
		})
	})
}

// feed has the newest data, for any number of readers.
//
// Ownership: mu guards it.
type feed struct {
	mu     sync.Mutex
	next   chan struct{} // closed when there is something newer
	body   []byte
	change uint64 // how many changes it has
}

// put replaces the data and wakes the readers.
func (f *feed) put(body []byte, change uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.body, f.change = body, change
	if f.next != nil {
		close(f.next)
	}
	f.next = make(chan struct{})
}

// get returns the data, or nil if it lacks some of the changes, and a channel that is closed when
// there is newer data.
func (f *feed) get(change uint64) ([]byte, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = make(chan struct{})
	}
	if f.change < change {
		return nil, f.next
	}
	return f.body, f.next
}

// streamEvents sends each sample and each problem.
func (x *Inspector) streamEvents(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "shards")
	full := p.number("shards", 0, 0, 1) == 1
	if p.err != nil {
		return p.err
	}
	return x.open(w, r, func(s *stream) error {
		from := &x.samples.short
		if full {
			from = &x.samples.full
			x.samples.lookFull(1)
			defer x.samples.lookFull(-1)
		}
		silent := time.NewTicker(beat)
		defer silent.Stop()
		seen := x.samples.problems.last()
		for {
			body, next := from.get(x.changes.Load())
			if body != nil {
				if err := s.send("stats", body); err != nil {
					return err
				}
			}
			for _, problem := range x.samples.problems.since(&seen) {
				if err := s.send("problem", problem); err != nil {
					return err
				}
			}
			for waits := true; waits; {
				select {
				case <-next:
					waits = false
				case <-silent.C:
					if err := s.write(": still here\n\n"); err != nil {
						return err
					}
				case <-s.ctx.Done():
					return s.ctx.Err()
				}
			}
		}
	})
}
