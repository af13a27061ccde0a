package inspect

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// appendTraces appends ticks as JSON.
func appendTraces(dst []byte, all []scheduler.Trace) []byte {
	dst = append(dst, `{"ticks":[`...)
	for i := range all {
		t := &all[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		critical := time.Duration(0)
		for _, s := range t.Spans {
			if s.Critical && (s.Kind == scheduler.SpanSystem || s.Kind == scheduler.SpanBalance || s.Kind == scheduler.SpanBetween || s.Kind == scheduler.SpanStep && s.Worker < 0) {
				critical += s.To - s.From
			}
		}
		dst = fmt.Appendf(dst, `{"tick":%d,"began_ms":%d,"duration_ns":%d,"between_ns":%d,"budget_ns":%d,"overrun":%t,"workers":%d,"critical_ns":%d,"spans":[`,
			t.Tick, t.Began.UnixMilli(), t.Duration, t.Between, t.Budget, t.Overrun, t.Workers, critical)
		for k, s := range t.Spans {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, `{"kind":"`...), s.Kind.String()...), `","name":`...)
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

func appendEvent(dst []byte, name, kind string, thread int, from, took time.Duration, shard int) []byte {
	dst = append(appendText(append(dst, `{"name":`...), name), `,"cat":"`...)
	return fmt.Appendf(dst, `%s","ph":"X","pid":1,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"shard":%d}},`,
		kind, thread, float64(from)/1e3, float64(took)/1e3, shard)
}
