package durable

import "github.com/atoll-sim/atoll/internal/extend"

// measured is a Store as the world sees it, for statistics.
type measured struct{ *Store }

// Measure reports what is on disk, and what is not yet.
func (d measured) Measure(add func(extend.Measured)) {
	figure := func(name, help string, counts bool, value float64) {
		add(extend.Measured{Name: "atoll_store_" + name, Help: help, Counts: counts, Value: value})
	}
	w := &d.written
	figure("snapshots_total", "Snapshots saved while the world ran.", true, float64(w.snapshots.Load()))
	figure("snapshots_failed_total", "Snapshots that could not be saved.", true, float64(w.failed.Load()))
	figure("snapshot_seconds_total", "How long it took to write snapshots, once they were captured.", true, w.took.Load().Seconds())
	figure("snapshot_tick", "Tick of the last snapshot.", false, float64(d.saves.Load()))
	figure("durable_tick", "Tick up to which everything is on disk.", false, float64(d.Durable()))
	failed := 0.0
	if d.Err() != nil {
		failed = 1
	}
	figure("failed", "1 if inputs are not written any more.", false, failed)
	if !d.o.NoLog {
		figure("log_waiting_bytes", "Bytes of the log that are not on disk yet.", false, float64(d.log.waitingBytes()))
	}
}
