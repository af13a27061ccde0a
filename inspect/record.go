package inspect

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
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
	*visitor
	samples *samples
	answers *answers

	mu     sync.Mutex
	until  time.Time
	runs   bool
	newest []scheduler.Trace // the oldest first
	asked  []*recording      // likewise
	number int
}

// recording is some ticks in detail.
//
// Ownership: recorder.mu guards it. A recording does not change once it is done.
type recording struct {
	id     string
	at     time.Time
	ticks  int
	traces []scheduler.Trace
	isGo   bool
	goData []byte
	done   bool
}

// serveTicks serves /api/ticks: it answers with the newest traced ticks, and has ticks traced for a
// while.
func (r *recorder) serveTicks(w http.ResponseWriter, q *http.Request) error {
	p := parametersOf(q, "after")
	after, err := int64(-1), error(nil)
	if text := p.Get("after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < -1 {
			p.fail("after is %q, want the number of a tick", text)
		}
	}
	if p.err != nil {
		return p.err
	}
	r.mu.Lock()
	r.until = time.Now().Add(traceFor)
	if !r.runs {
		r.runs = r.work.start(r.follow)
	}
	some := slices.DeleteFunc(slices.Clone(r.newest), func(t scheduler.Trace) bool { return int64(t.Tick) <= after })
	r.mu.Unlock()
	writeBody(w, http.StatusOK, appendTraces(nil, some))
	return nil
}

// follow traces a tick now and then, until readers stop asking or the Inspector ends. It is a
// goroutine of the Inspector's, one at a time.
func (r *recorder) follow() {
	for {
		r.mu.Lock()
		r.runs = time.Now().Before(r.until) && r.ctx.Err() == nil
		runs := r.runs
		if !runs {
			r.newest = nil
		}
		r.mu.Unlock()
		if !runs {
			return
		}
		ctx, cancel := context.WithTimeout(r.ctx, waitMax)
		some, _ := r.s.Trace(ctx, 1)
		cancel()
		r.mu.Lock()
		r.newest = append(r.newest, some...)
		r.newest = slices.Delete(r.newest, 0, max(0, len(r.newest)-tracesMax))
		r.mu.Unlock()
		select {
		case <-time.After(sampleLook):
		case <-r.ctx.Done():
		}
	}
}

// toRecord is the body of a request to record ticks.
type toRecord struct {
	Ticks int  `json:"ticks"`
	Go    bool `json:"go"`
}

// record serves /api/record: it begins to record the next ticks, one recording at a time, and
// answers at once. An error has begun nothing.
func (r *recorder) record(w http.ResponseWriter, q *http.Request, body toRecord) error {
	if err := r.samples.turn.Acquire(q.Context(), 1); err != nil {
		return err
	}
	systems := len(r.samples.last.scheduler.Systems)
	r.samples.turn.Release(1)
	most := min(scheduler.TraceTicksMax, max(1, spansMax/((systems+20)*r.w.Shards())))
	if body.Ticks < 1 || body.Ticks > most {
		return refuse(http.StatusBadRequest, fmt.Sprintf("ticks is %d, want 1 to %d", body.Ticks, most))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.asked); n > 0 && !r.asked[n-1].done {
		return refuse(http.StatusConflict, "a recording is under way; wait until it is done")
	}
	r.number++
	of := &recording{id: "r" + strconv.Itoa(r.number), at: time.Now(), ticks: body.Ticks, isGo: body.Go}
	data := &bounded{most: goTraceMax}
	if body.Go {
		if err := trace.Start(data); err != nil {
			return refuse(http.StatusConflict, "the Go runtime cannot be traced: "+err.Error())
		}
	}
	if !r.work.start(func() { r.finish(of, data) }) {
		if body.Go {
			trace.Stop()
		}
		return errClosed
	}
	r.keep(of)
	r.changed(q, "record", "ticks", body.Ticks, "go", body.Go)
	writeJSON(w, http.StatusOK, object{"id": of.id})
	return nil
}

// keep keeps a recording, and drops old ones. The lock is held.
func (r *recorder) keep(of *recording) {
	r.asked = append(r.asked, of)
	r.asked = slices.Delete(r.asked, 0, max(0, len(r.asked)-recordingsMax))
}

// finish makes a recording, on a goroutine of its own. One that waits for ticks ends after a while,
// with those that it has.
func (r *recorder) finish(of *recording, data *bounded) {
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute+10*time.Duration(of.ticks)*r.w.Options().TickInterval)
	defer cancel()
	some, _ := r.s.Trace(ctx, of.ticks)
	if of.isGo {
		trace.Stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of.traces, of.done = some, true
	if of.isGo {
		of.goData = data.Bytes()
	}
}

// all returns the recordings, first the ticks that overran and then what was asked for, each group
// oldest first. HTTP requests call it.
func (r *recorder) all() (all []recording) {
	for _, t := range r.samples.kept.Traces() {
		of := recording{id: overrunID(t.Tick), at: t.Began, ticks: 1, traces: []scheduler.Trace{t}, done: true}
		of.goData = r.samples.flights.find(of.id)
		of.isGo = of.goData != nil
		all = append(all, of)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.asked {
		all = append(all, *of)
	}
	return all
}

// spanBytes is about how much memory a span takes.
const spanBytes = 88

// serveRecordings serves /api/recordings: it lists the recordings.
func (r *recorder) serveRecordings(w http.ResponseWriter, q *http.Request) error {
	all := []object{}
	for _, of := range r.all() {
		why, tick, ticks, size, longest := "asked", uint64(0), of.ticks, len(of.goData), time.Duration(0)
		if of.id[0] == 'o' {
			why = "overrun"
		}
		for i := range of.traces {
			size += len(of.traces[i].Spans) * spanBytes
			longest = max(longest, of.traces[i].Duration)
		}
		if of.done {
			ticks = len(of.traces)
		}
		if len(of.traces) > 0 {
			tick = of.traces[0].Tick
		}
		all = append(all, object{
			"id": of.id, "why": why, "tick": tick, "ticks": ticks, "done": of.done, "at_ms": of.at.UnixMilli(), "bytes": size, "max_ns": longest, "go": of.isGo,
		})
	}
	writeJSON(w, http.StatusOK, object{"recordings": all})
	return nil
}

// writeTraces answers a request with ticks, in the format of write. They may be a hundred
// megabytes, so they are encoded once for simultaneous readers.
func (r *recorder) writeTraces(w http.ResponseWriter, q *http.Request, key string, all []scheduler.Trace, write func([]byte, []scheduler.Trace) []byte) error {
	body, err := r.answers.of(q.Context(), "recording?"+key, frameAge, func(context.Context) ([]byte, error) { return write(nil, all), nil })
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, body)
	return nil
}

// serveRecording serves /api/recordings/ID: it answers with a recording, in one of three formats.
func (r *recorder) serveRecording(w http.ResponseWriter, q *http.Request) error {
	p := parametersOf(q, "format")
	if p.err != nil {
		return p.err
	}
	id := q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:]
	all := r.all()
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
		return r.writeTraces(w, q, id, of.traces, appendTraces)
	case "perfetto":
		attach("atoll-" + id + ".json")
		return r.writeTraces(w, q, id+"?perfetto", of.traces, appendPerfetto)
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

// appendTraces appends ticks as JSON. Nothing writes them any more.
func appendTraces(dst []byte, all []scheduler.Trace) []byte {
	dst = append(dst, `{"ticks":[`...)
	for i := range all {
		t := &all[i]
		critical := time.Duration(0)
		for _, s := range t.Spans {
			if s.Critical && (s.Kind == scheduler.SpanSystem || s.Kind == scheduler.SpanBalance || s.Kind == scheduler.SpanBetween || s.Kind == scheduler.SpanStep && s.Worker < 0) {
				critical += s.To - s.From
			}
		}
		dst = fmt.Appendf(appendComma(dst), `{"tick":%d,"began_ms":%d,"duration_ns":%d,"between_ns":%d,"budget_ns":%d,"overrun":%t,"workers":%d,"critical_ns":%d,"spans":[`,
			t.Tick, t.Began.UnixMilli(), t.Duration, t.Between, t.Budget, t.Overrun, t.Workers, critical)
		for _, s := range t.Spans {
			dst = append(append(append(appendComma(dst), `{"kind":"`...), s.Kind.String()...), `","name":`...)
			dst = append(appendText(dst, s.Name), `,"shard":`...)
			dst = append(strconv.AppendInt(dst, int64(s.Shard), 10), `,"worker":`...)
			dst = append(strconv.AppendInt(dst, int64(s.Worker), 10), `,"from_ns":`...)
			dst = append(strconv.AppendInt(dst, int64(s.From), 10), `,"to_ns":`...)
			dst = append(strconv.AppendInt(dst, int64(s.To), 10), `,"for":`...)
			dst = append(strconv.AppendInt(dst, int64(s.For), 10), `,"critical":`...)
			dst = append(strconv.AppendBool(dst, s.Critical), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, "]}"...)
}

// Threads of a Chrome trace: workers have their numbers, the others come behind.
const (
	threadRefresh = 1 << 16
	threadShards  = 1<<16 + 1
)

// appendPerfetto appends ticks as events of the Chrome trace format: a thread for each worker, one
// for the refresh, and one for each shard that waits.
func appendPerfetto(dst []byte, all []scheduler.Trace) []byte {
	dst = append(dst, `{"displayTimeUnit":"ms","traceEvents":[`...)
	threads := map[int]string{}
	for i := range all {
		t := &all[i]
		began := t.Began.Sub(all[0].Began) + all[0].Between
		dst = appendEvent(dst, fmt.Sprintf("tick %d", t.Tick), "tick", threadRefresh, began-t.Between, t.Duration, world.AllShards)
		threads[threadRefresh] = "ticks and steps of the refresh"
		for _, s := range t.Spans {
			thread := s.Worker
			switch {
			case s.Kind == scheduler.SpanWait:
				thread = threadShards + s.Shard
				threads[thread] = fmt.Sprintf("shard %d waits", s.Shard)
			case thread < 0:
				thread = threadRefresh
			default:
				threads[thread] = fmt.Sprintf("worker %d", thread)
			}
			dst = appendEvent(dst, s.Name, s.Kind.String(), thread, began+s.From, s.To-s.From, s.Shard)
		}
	}
	for thread, name := range threads {
		dst = fmt.Appendf(dst, `{"name":"thread_name","ph":"M","pid":1,"tid":%d,"args":{"name":%q}},`, thread, name)
	}
	return append(bytes.TrimSuffix(dst, []byte{','}), "]}"...)
}

// appendEvent appends an event, with a comma behind it.
func appendEvent(dst []byte, name, kind string, thread int, from, took time.Duration, shard int) []byte {
	dst = append(appendText(append(dst, `{"name":`...), name), `,"cat":"`...)
	return fmt.Appendf(dst, `%s","ph":"X","pid":1,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"shard":%d}},`,
		kind, thread, float64(from)/1e3, float64(took)/1e3, shard)
}
