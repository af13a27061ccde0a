package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
)

const (
	tracesMax     = 8               // ticks that are kept for the timeline
	traceFor      = 5 * time.Second // for how long ticks are traced after a request
	overrunsMax   = 16
	recordingsMax = 4
	spansMax      = 1 << 20  // of a recording, about
	goTraceMax    = 64 << 20 // bytes
)

// recorder traces ticks for the timeline while a reader asks for them, and for recordings.
//
// Ownership: mu guards the fields after it.
type recorder struct {
	x      *Inspector
	mu     sync.Mutex
	until  time.Time
	runs   bool
	newest []scheduler.Trace // the oldest first
	asked  []*recording      // likewise
	number int
}

// recording is some ticks in detail.
//
// Ownership: as that of recorder. A recording does not change once it is done.
type recording struct {
	id     string
	at     time.Time
	ticks  int
	traces []scheduler.Trace
	isGo   bool
	goData []byte
	done   bool
}

func overrunID(tick uint64) string { return "o" + strconv.FormatUint(tick, 10) }

// serveTicks answers with the newest traced ticks, and has ticks traced for a while.
func (x *Inspector) serveTicks(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "after")
	after, err := int64(-1), error(nil)
	if text := p.Get("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < -1 {
			p.fail("after is %q, want the number of a tick", text)
		}
	}
	if p.err != nil {
		return p.err
	}
	c := &x.recorder
	c.mu.Lock()
	c.until = time.Now().Add(traceFor)
	if !c.runs {
		c.runs = x.work.start(c.follow)
	}
	some := slices.DeleteFunc(slices.Clone(c.newest), func(t scheduler.Trace) bool { return int64(t.Tick) <= after })
	c.mu.Unlock()
	writeBody(w, http.StatusOK, appendTraces(nil, some))
	return nil
}

// follow traces a tick now and then, until readers stop asking.
func (c *recorder) follow() {
	for {
		c.mu.Lock()
		c.runs = time.Now().Before(c.until) && c.x.ctx.Err() == nil
		runs := c.runs
		if !runs {
			c.newest = nil
		}
		c.mu.Unlock()
		if !runs {
			return
		}
		ctx, cancel := context.WithTimeout(c.x.ctx, waitMax)
		some, _ := c.x.s.Trace(ctx, 1)
		cancel()
		c.mu.Lock()
		c.newest = append(c.newest, some...)
		c.newest = slices.Delete(c.newest, 0, max(0, len(c.newest)-tracesMax))
		c.mu.Unlock()
		select {
		case <-time.After(sampleLook):
		case <-c.x.ctx.Done():
		}
	}
}

// record records the next ticks.
func (x *Inspector) record(w http.ResponseWriter, r *http.Request) error {
	body := struct {
		Ticks int  `json:"ticks"`
		Go    bool `json:"go"`
	}{Ticks: 100}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if err := x.samples.turn.Acquire(r.Context(), 1); err != nil {
		return err
	}
	systems := len(x.samples.scheduler.Systems)
	x.samples.turn.Release(1)
	most := min(scheduler.TraceTicksMax, max(1, spansMax/((systems+20)*x.w.Shards())))
	if body.Ticks < 1 || body.Ticks > most {
		return refuse(http.StatusBadRequest, fmt.Sprintf("ticks is %d, want 1 to %d", body.Ticks, most))
	}
	c := &x.recorder
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.asked); n > 0 && !c.asked[n-1].done {
		return refuse(http.StatusConflict, "a recording is under way; wait until it is done")
	}
	c.number++
	of := &recording{id: "r" + strconv.Itoa(c.number), at: time.Now(), ticks: body.Ticks, isGo: body.Go}
	data := &bounded{most: goTraceMax}
	if body.Go {
		if err := trace.Start(data); err != nil {
			return refuse(http.StatusConflict, "the Go runtime cannot be traced: "+err.Error())
		}
	}
	if !x.work.start(func() { c.finish(of, data) }) {
		if body.Go {
			trace.Stop()
		}
		return errClosed
	}
	c.keep(of)
	x.changed(r, "record", "ticks", body.Ticks, "go", body.Go)
	writeJSON(w, http.StatusOK, struct {
		ID string `json:"id"`
	}{of.id})
	return nil
}

// keep keeps a recording, and drops old ones. The lock is held.
func (c *recorder) keep(of *recording) {
	c.asked = append(c.asked, of)
	c.asked = slices.Delete(c.asked, 0, max(0, len(c.asked)-recordingsMax))
}

// finish makes a recording. One that waits for ticks ends after a while.
func (c *recorder) finish(of *recording, data *bounded) {
	ctx, cancel := context.WithTimeout(c.x.ctx, time.Minute+10*time.Duration(of.ticks)*c.x.w.Options().TickInterval)
	defer cancel()
	some, _ := c.x.s.Trace(ctx, of.ticks)
	if of.isGo {
		trace.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	of.traces, of.done = some, true
	if of.isGo {
		of.goData = data.Bytes()
	}
}

// bounded is a buffer that fails when it would get too large.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errors.New("inspect: the trace of the Go runtime is too large")
	}
	return b.Buffer.Write(p)
}

// all returns the recordings, those of ticks that overran first, each group oldest first.
func (c *recorder) all() (all []recording) {
	for _, t := range c.x.overruns.Traces() {
		of := recording{id: overrunID(t.Tick), at: t.Began, ticks: 1, traces: []scheduler.Trace{t}, done: true}
		of.goData = c.x.flights.find(of.id)
		of.isGo = of.goData != nil
		all = append(all, of)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.asked {
		all = append(all, *of)
	}
	return all
}

// spanBytes is about how much memory a span takes.
const spanBytes = 88

func (x *Inspector) serveRecordings(w http.ResponseWriter, r *http.Request) error {
	type recordingJSON struct {
		ID    string `json:"id"`
		Why   string `json:"why"`
		Tick  uint64 `json:"tick"`
		Ticks int    `json:"ticks"`
		Done  bool   `json:"done"`
		At    int64  `json:"at_ms"`
		Bytes int    `json:"bytes"`
		Max   int64  `json:"max_ns"` // the longest tick
		Go    bool   `json:"go"`
	}
	all := []recordingJSON{}
	for _, of := range x.recorder.all() {
		y := recordingJSON{of.id, "asked", 0, of.ticks, of.done, of.at.UnixMilli(), len(of.goData), 0, of.isGo}
		if of.id[0] == 'o' {
			y.Why = "overrun"
		}
		for i := range of.traces {
			y.Bytes += len(of.traces[i].Spans) * spanBytes
			y.Max = max(y.Max, of.traces[i].Duration.Nanoseconds())
		}
		if of.done {
			y.Ticks = len(of.traces)
		}
		if len(of.traces) > 0 {
			y.Tick = of.traces[0].Tick
		}
		all = append(all, y)
	}
	writeJSON(w, http.StatusOK, struct {
		Recordings []recordingJSON `json:"recordings"`
	}{all})
	return nil
}

// writeTraces answers with ticks. They may be a hundred megabytes, so they are encoded once for
// simultaneous readers.
func (x *Inspector) writeTraces(w http.ResponseWriter, r *http.Request, key string, all []scheduler.Trace, write func([]byte, []scheduler.Trace) []byte) error {
	body, err := x.answers.of(r.Context(), "recording?"+key, frameAge, func(context.Context) ([]byte, error) { return write(nil, all), nil })
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, body)
	return nil
}

// serveRecording answers with a recording, in one of three formats.
func (x *Inspector) serveRecording(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "format")
	if p.err != nil {
		return p.err
	}
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	all := x.recorder.all()
	i := slices.IndexFunc(all, func(of recording) bool { return of.id == id })
	switch {
	case i < 0:
		return refuse(http.StatusNotFound, fmt.Sprintf("there is no recording %q; the last %d of ticks that overran are kept, and the last %d that were asked for", id, overrunsMax, recordingsMax))
	case !all[i].done:
		return busy(http.StatusConflict, "the recording is under way; ask again later")
	}
	of := &all[i]
	attach := func(name string) {
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
	switch format := p.Get("format"); format {
	case "":
		return x.writeTraces(w, r, id, of.traces, appendTraces)
	case "perfetto":
		attach("atoll-" + id + ".json")
		return x.writeTraces(w, r, id+"?perfetto", of.traces, appendPerfetto)
	case "go":
		if !of.isGo {
			return refuse(http.StatusNotFound, "the recording has no trace of the Go runtime; ask for one with go, or set inspect.Options.GoTraces")
		}
		attach("atoll-" + id + ".trace")
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(of.goData) // if it fails, the reader is gone
	default:
		return refuse(http.StatusBadRequest, fmt.Sprintf("format is %q, want perfetto or go, or none", format))
	}
	return nil
}
