package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/number"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// stepsMax is how many ticks one request may step.
const stepsMax = 1000

// port sends the changes, so that a log of inputs has them. The first change opens it.
//
// Ownership: mu guards it.
type port struct {
	mu   sync.Mutex
	p    *world.Port
	over bool
}

// use calls f with the port.
func (p *port) use(w *world.World, f func(*world.Port) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return errClosed
	}
	if p.p == nil {
		var err error
		if p.p, err = w.OpenPort(); err != nil {
			return busy(http.StatusServiceUnavailable, err.Error())
		}
	}
	err := f(p.p)
	switch {
	case errors.Is(err, world.ErrTooLarge):
		err = refuse(http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, world.ErrFull):
		err = busy(http.StatusServiceUnavailable, err.Error())
	case err != nil && w.Err() != nil:
		err = errClosed
	}
	return err
}

func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.p != nil {
		p.p.Close()
		p.p = nil
	}
}

// changed logs a change that was requested.
func (x *Inspector) changed(r *http.Request, what string, values ...any) {
	x.log(levelChanged, "inspector: "+what, append(values, "from", r.RemoteAddr, "tick", x.w.Tick())...)
}

// made notes that a change was made, before the answer is sent: later readers see the change.
func (x *Inspector) made() { x.changes.Add(1) }

// state says whether the world is paused, and at which tick.
type state struct {
	Paused bool   `json:"paused"`
	Tick   uint64 `json:"tick"`
}

// writeState answers with the state after a change.
func (x *Inspector) writeState(w http.ResponseWriter, now state) error {
	x.made()
	x.samples.wake()
	writeJSON(w, http.StatusOK, now)
	return nil
}

// look reads the state between two ticks. If it returns an error, now is unchanged.
func (x *Inspector) look(ctx context.Context, now *state) error {
	return x.asks.do(ctx, func(w *world.World) { *now = state{x.s.Paused(), w.Tick()} })
}

var errPauses = busy(http.StatusServiceUnavailable,
	"the tick under way has not ended for 2 seconds; the world pauses when it does. A system takes long, or nobody runs the world; ask again later")

// pause pauses the world, and answers when the tick under way has ended.
func (x *Inspector) pause(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	x.s.Pause()
	x.changed(r, "pause")
	var now state
	switch err := x.look(r.Context(), &now); {
	case errors.Is(err, errStands):
		return errPauses
	case err != nil:
		return err
	}
	return x.writeState(w, now)
}

// resume lets the world go on.
func (x *Inspector) resume(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	x.s.Resume()
	x.changed(r, "resume")
	return x.writeState(w, state{x.s.Paused(), x.w.Tick()})
}

// rest waits until a paused world has made all ticks that were requested: when two looks find the
// same tick, Run has none left. It returns at once if the world is not paused. If it returns an
// error, now is what it last saw.
func (x *Inspector) rest(ctx context.Context, now *state) error {
	for {
		was := *now
		if err := x.look(ctx, now); err != nil || !now.Paused || *now == was {
			return err
		}
	}
}

var (
	errRuns  = refuse(http.StatusConflict, "the world is not paused; pause it first")
	errSteps = refuse(http.StatusConflict, "ticks of another step are not made yet; ask again later, or pause, which drops them")
)

// step makes ticks of a paused Run, and answers when they are made.
func (x *Inspector) step(w http.ResponseWriter, r *http.Request) error {
	body := struct {
		Ticks int `json:"ticks"`
	}{1}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if body.Ticks < 1 || body.Ticks > stepsMax {
		return refuse(http.StatusBadRequest, fmt.Sprintf("ticks is %d, want 1 to %d", body.Ticks, stepsMax))
	}
	if !x.s.Paused() {
		return errRuns
	}
	ctx, cancel := context.WithTimeout(r.Context(), waitMax)
	defer cancel()
	if x.steps.Acquire(ctx, 1) != nil {
		return errSteps
	}
	defer x.steps.Release(1)
	var now state
	switch err := x.rest(ctx, &now); {
	case errors.Is(err, errStands) && now.Paused:
		return errSteps
	case err != nil:
		return err
	case !now.Paused:
		return errRuns
	}
	if err := x.asks.do(ctx, func(w *world.World) {
		now = state{true, w.Tick()}
		for range body.Ticks {
			now.Paused = x.s.StepOnce() && now.Paused
		}
	}); err != nil {
		return err
	}
	if !now.Paused {
		return errRuns
	}
	x.changed(r, "step", "ticks", body.Ticks)
	from := now.Tick
	err := x.rest(ctx, &now)
	x.made() // ticks, whatever the answer says
	made := now.Tick - from
	switch {
	case errors.Is(err, errStands):
		return refuse(http.StatusServiceUnavailable, fmt.Sprintf("%d of %d ticks were made in 2 seconds; the others follow, unless you pause, which drops them", made, body.Ticks))
	case err != nil:
		return err
	case made < uint64(body.Ticks):
		return refuse(http.StatusConflict, fmt.Sprintf("%d of %d ticks were made; then somebody paused, resumed or stopped the world", made, body.Ticks))
	}
	return x.writeState(w, now)
}

// enable enables or disables a system.
func (x *Inspector) enable(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Name    string `json:"name"`
		Enabled *bool  `json:"enabled"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if body.Enabled == nil {
		return refuse(http.StatusBadRequest, "enabled is missing, want true or false")
	}
	do := x.s.Disable
	if *body.Enabled {
		do = x.s.Enable
	}
	if err := do(body.Name); err != nil {
		return refuse(http.StatusNotFound, err.Error())
	}
	x.changed(r, "system", "name", body.Name, "enabled", *body.Enabled)
	x.made()
	x.samples.wake()
	writeJSON(w, http.StatusOK, struct {
		Enabled bool `json:"enabled"`
	}{x.s.Enabled(body.Name)})
	return nil
}

// set sets a field of a component. It reads the component between two ticks and sends all of it by
// the port, so it overwrites what systems write to other fields in the next tick.
func (x *Inspector) set(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Handle    string `json:"handle"`
		Component string `json:"component"`
		Path      string `json:"path"`
		Value     any    `json:"value"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	h, err := handle.Parse(body.Handle)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	var done world.Completion
	failed := x.asks.do(r.Context(), func(w *world.World) {
		err = x.setNow(w, h, body.Component, body.Path, body.Value, &done)
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	x.changed(r, "set", "handle", h, "component", body.Component, "path", body.Path, "value", body.Value)
	return x.writeOutcome(w, r, &done)
}

// setNow sends a request with the idle world's value, or that of the edit before, and one field
// changed.
func (x *Inspector) setNow(w *world.World, h handle.Handle, component, path string, value any, done *world.Completion) error {
	id, f, err := x.schemas.of(w).fieldNamed(component, path)
	if err != nil {
		return err
	}
	d := engine.Of(w)
	space := d.Space()
	l := space.Locate(h)
	if l == 0 {
		return notAlive(w, h)
	}
	if !space.Set(l).Has(id) {
		return refuse(http.StatusConflict, fmt.Sprintf("%v has no %s", h, component))
	}
	next := reflect.New(space.TypeOf(id).Of).Elem()
	if last := x.lastEdit(h, id); last != nil {
		next.Set(last.value)
	} else {
		next.Set(reflect.ValueOf(store.ValueAt(space.Columns[id], l)))
	}
	if err := setField(f.Of(next), value); err != nil {
		return refuse(http.StatusBadRequest, "value: "+err.Error())
	}
	err = x.port.use(w, func(p *world.Port) error {
		return d.SetBy(p.Notify(done), id, h, next.Interface())
	})
	if err == nil {
		x.edits = append(x.edits, edit{h, id, next, done})
	}
	return err
}

// notAlive is the answer to a change of what the idle world does not have.
func notAlive(w *world.World, h handle.Handle) error {
	return refuse(http.StatusConflict, fmt.Sprintf("%v is not alive: %v", h, w.Status(h)))
}

// edit is a component that was sent by setNow.
type edit struct {
	of        handle.Handle
	component int
	value     reflect.Value
	done      *world.Completion
}

// lastEdit returns the last edit of a component that waits for a refresh, or nil. The next edit
// must keep its fields.
func (x *Inspector) lastEdit(h handle.Handle, component int) (last *edit) {
	x.edits = slices.DeleteFunc(x.edits, func(e edit) bool { return e.done.Outcome() != world.Undecided })
	for i := range x.edits {
		if e := &x.edits[i]; e.of == h && e.component == component {
			last = e
		}
	}
	return last
}

// setField stores a JSON value in a field. Numbers may be text, because large ones and NaN are
// written so.
func setField(to reflect.Value, value any) error {
	wants := func(what string) error { return fmt.Errorf("want %s, of type %v, not %v", what, to.Type(), value) }
	switch to.Kind() {
	case reflect.Bool:
		is, ok := value.(bool)
		if !ok {
			return wants("true or false")
		}
		to.SetBool(is)
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return wants("a text")
		}
		to.SetString(text)
	default:
		text, _ := value.(string)
		if n, ok := value.(json.Number); ok {
			text = n.String()
		}
		if number.Set(to, text) != nil {
			return wants("a number in its range")
		}
	}
	return nil
}

// destroy destroys an entity. As set does, it first looks between two ticks whether there is one.
func (x *Inspector) destroy(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Handle string `json:"handle"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	h, err := handle.Parse(body.Handle)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	var done world.Completion
	failed := x.asks.do(r.Context(), func(w *world.World) {
		if engine.Of(w).Space().Locate(h) == 0 {
			err = notAlive(w, h)
			return
		}
		err = x.port.use(w, func(p *world.Port) error { return p.Notify(&done).Destroy(h) })
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	x.changed(r, "destroy", "handle", h)
	return x.writeOutcome(w, r, &done)
}

// writeOutcome waits for the outcome of a request. It answers 202 if there is none yet.
func (x *Inspector) writeOutcome(w http.ResponseWriter, r *http.Request, done *world.Completion) error {
	wait := waitMax
	if x.s.Paused() {
		wait /= 20 // the next tick may not come for long
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	outcome, err := done.Wait(ctx)
	x.made()
	status := http.StatusOK
	if err != nil {
		status = http.StatusAccepted
	}
	writeJSON(w, status, struct {
		Outcome string `json:"outcome"`
	}{outcome.String()})
	return nil
}
