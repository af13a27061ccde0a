package inspect

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

// beat is the time after which a silent stream writes something, to find out whether the reader is
// still there.
const beat = 15 * time.Second

// writeWait is how long a write may take.
const writeWait = 5 * time.Second

var errStreams = busy(http.StatusServiceUnavailable, "as many streams are open as ConnectionsMax allows; ask again later")

// streams opens streams, up to a limit.
//
// Ownership: any goroutine.
type streams struct {
	*visitor
	samples *samples
	places  *semaphore.Weighted
}

// stream is an event stream to one reader. It has no queue: a slow reader gets
// the newest data when it can take more.
//
// Ownership: the goroutine of the request.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context // of the request
}

// open begins a stream, if the limit allows it, and calls f with it on the goroutine of the
// request, until f returns. When the Inspector ends, the reader gets an event. An error has sent
// nothing; once the stream has begun there is none.
func (s *streams) open(w http.ResponseWriter, r *http.Request, f func(*stream) error) error {
	if !s.places.TryAcquire(1) {
		return errStreams
	}
	defer s.places.Release(1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	one := &stream{w, http.NewResponseController(w), ctx}
	if one.write(": hello\n\n") != nil { // so that the reader knows at once, also if there is nothing to send yet
		return nil
	}
	s.samples.look(1)
	defer s.samples.look(-1)
	_ = f(one) // the stream ended, for whatever reason
	_ = one.send("bye", []byte("{}"))
	return nil
}

// send writes an event. It fails if that takes longer than writeWait.
func (s *stream) send(event string, data []byte) error {
	return s.write("event: " + event + "\ndata: " + string(data) + "\n\n")
}

// write writes text and sends it at once. It fails if that takes longer than writeWait.
func (s *stream) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWait)) // if the connection has one
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// every sends what f returns as an event, at once and then after each interval. It runs until the
// reader goes away, and returns why. An error that may pass is sent as the event "failed".
func (s *stream) every(interval time.Duration, event string, f view) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		body, err := f(s.ctx)
		switch e := refusalOf(err); {
		case e != nil:
			err = s.send("failed", fmt.Appendf(nil, `{"error":%s}`, appendText(nil, e.text)))
		case err == nil:
			err = s.send(event, body)
		}
		if err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// serveEvents serves /api/events: it sends each sample and each problem, as long as the reader
// stays.
func (s *streams) serveEvents(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "shards")
	full := p.number("shards", 0, 0, 1)
	if p.err != nil {
		return p.err
	}
	return s.open(w, r, func(to *stream) error {
		s.samples.fulls.Add(int32(full))
		defer s.samples.fulls.Add(-int32(full))
		silent := time.NewTicker(beat)
		defer silent.Stop()
		seen := s.samples.signs.last()
		for {
			change, e := s.changes.Load(), s.samples.newest.Load()
			if e.fed[full] != nil && e.change >= change {
				if err := to.send("stats", e.fed[full]); err != nil {
					return err
				}
			}
			for _, problem := range s.samples.signs.since(&seen) {
				if err := to.send("problem", problem); err != nil {
					return err
				}
			}
			for waits := true; waits; {
				select {
				case <-e.newer:
					waits = false
				case <-silent.C:
					if err := to.write(": still here\n\n"); err != nil {
						return err
					}
				case <-to.ctx.Done():
					return to.ctx.Err()
				}
			}
		}
	})
}
