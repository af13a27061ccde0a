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

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/number"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// stepsMax is how many ticks one request may step.
const stepsMax = 1000

var (
	errPauses = busy(http.StatusServiceUnavailable,
		"the tick under way has not ended for 2 seconds; the world pauses when it does. A system takes long, or nobody runs the world; ask again later")
	errRuns  = refuse(http.StatusConflict, "the world is not paused; pause it first")
	errSteps = refuse(http.StatusConflict, "ticks of another step are not made yet; ask again later, or pause, which drops them")
)

// controls change the world. A port sends the changes of entities, so that a log of inputs has
// them; the first change opens it.
//
// Ownership: any goroutine. mu guards port and over. Only the goroutine with the idle world uses
// edits.
type controls struct {
	*visitor
	schemas *schemas
	samples *samples
	steps   *semaphore.Weighted // one at a time, because each counts the ticks that are made
	edits   []edit              // those that wait for a refresh, and some before
	mu      sync.Mutex
	port    *world.Port
	over    bool
}

// use calls f with the port, which it opens on the first call. One goroutine at a time: it holds
// the lock meanwhile. It makes an error of the port one for the reader.
func (c *controls) use(f func(*world.Port) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errClosed
	}
	if c.port == nil {
		var err error
		if c.port, err = c.w.OpenPort(); err != nil {
			return busy(http.StatusServiceUnavailable, err.Error())
		}
	}
	err := f(c.port)
	switch {
	case errors.Is(err, world.ErrTooLarge):
		err = refuse(http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, world.ErrFull):
		err = busy(http.StatusServiceUnavailable, err.Error())
	case err != nil && c.w.Err() != nil:
		err = errClosed
	}
	return err
}

// close closes the port. From then on there are no more changes of entities. Inspector.Close calls
// it.
func (c *controls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.port != nil {
		c.port.Close()
		c.port = nil
	}
}

// state says whether the world is paused, and at which tick.
type state struct {
	Paused bool   `json:"paused"`
	Tick   uint64 `json:"tick"`
}

// write answers a request that has changed something. Readers who ask after the answer see the
// change.
func (c *controls) write(w http.ResponseWriter, answer any) error {
	c.made()
	c.samples.wake()
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// look reads the state between two ticks. If it returns an error, now is unchanged.
func (c *controls) look(ctx context.Context, now *state) error {
	return c.do(ctx, func(w *world.World) error { *now = state{c.s.Paused(), w.Tick()}; return nil })
}

// pause serves /api/pause: it pauses the world, and answers when the tick under way has ended. If
// that takes too long it answers with an error, and the world pauses later.
func (c *controls) pause(w http.ResponseWriter, r *http.Request, _ struct{}) error {
	c.s.Pause()
	c.changed(r, "pause")
	var now state
	switch err := c.look(r.Context(), &now); {
	case errors.Is(err, errStands):
		return errPauses
	case err != nil:
		return err
	}
	return c.write(w, now)
}

// resume serves /api/resume: it lets the world go on.
func (c *controls) resume(w http.ResponseWriter, r *http.Request, _ struct{}) error {
	c.s.Resume()
	c.changed(r, "resume")
	return c.write(w, state{c.s.Paused(), c.w.Tick()})
}

// rest waits until a paused world has made all ticks that were requested: when two looks find the
// same tick, Run has none left. It returns at once if the world is not paused. If it returns an
// error, now is what it last saw.
func (c *controls) rest(ctx context.Context, now *state) error {
	for {
		was := *now
		if err := c.look(ctx, now); err != nil || !now.Paused || *now == was {
			return err
		}
	}
}

// toStep is the body of a request to make ticks.
type toStep struct {
	Ticks int `json:"ticks"`
}

// step serves /api/step: it makes ticks of a paused Run, and answers when they are made. It returns
// an error, and makes no tick, if the world runs or makes ticks already. If the ticks take too long
// it returns an error, and Run still makes them.
func (c *controls) step(w http.ResponseWriter, r *http.Request, body toStep) error {
	if body.Ticks < 1 || body.Ticks > stepsMax {
		return refuse(http.StatusBadRequest, fmt.Sprintf("ticks is %d, want 1 to %d", body.Ticks, stepsMax))
	}
	if !c.s.Paused() {
		return errRuns
	}
	ctx, cancel := context.WithTimeout(r.Context(), waitMax)
	defer cancel()
	if c.steps.Acquire(ctx, 1) != nil {
		return errSteps
	}
	defer c.steps.Release(1)
	var now state
	switch err := c.rest(ctx, &now); {
	case errors.Is(err, errStands) && now.Paused:
		return errSteps
	case err != nil:
		return err
	case !now.Paused:
		return errRuns
	}
	err := c.do(ctx, func(w *world.World) error {
		now = state{true, w.Tick()}
		for range body.Ticks {
			now.Paused = c.s.StepOnce() && now.Paused
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case !now.Paused:
		return errRuns
	}
	c.changed(r, "step", "ticks", body.Ticks)
	from := now.Tick
	err = c.rest(ctx, &now)
	c.made() // ticks, whatever the answer says
	made := now.Tick - from
	switch {
	case errors.Is(err, errStands):
		return refuse(http.StatusServiceUnavailable, fmt.Sprintf("%d of %d ticks were made in 2 seconds; the others follow, unless you pause, which drops them", made, body.Ticks))
	case err != nil:
		return err
	case made < uint64(body.Ticks):
		return refuse(http.StatusConflict, fmt.Sprintf("%d of %d ticks were made; then somebody paused, resumed or stopped the world", made, body.Ticks))
	}
	return c.write(w, now)
}

// toEnable is the body of a request to enable or disable a system.
type toEnable struct {
	Name    string `json:"name"`
	Enabled *bool  `json:"enabled"`
}

// enable serves /api/systems: it enables or disables a system. An error has changed nothing.
func (c *controls) enable(w http.ResponseWriter, r *http.Request, body toEnable) error {
	if body.Enabled == nil {
		return refuse(http.StatusBadRequest, "enabled is missing, want true or false")
	}
	do := c.s.Disable
	if *body.Enabled {
		do = c.s.Enable
	}
	if err := do(body.Name); err != nil {
		return refuse(http.StatusNotFound, err.Error())
	}
	c.changed(r, "system", "name", body.Name, "enabled", *body.Enabled)
	return c.write(w, object{"enabled": c.s.Enabled(body.Name)})
}

// toSet is the body of a request to set a field of a component.
type toSet struct {
	Handle    string `json:"handle"`
	Component string `json:"component"`
	Path      string `json:"path"`
	Value     any    `json:"value"`
}

// set serves /api/entity/set: it sets a field of a component. It reads the component between two
// ticks and sends all of it by the port, so it overwrites what systems write to other fields in the
// next tick.
func (c *controls) set(w http.ResponseWriter, r *http.Request, body toSet) error {
	return c.request(w, r, body.Handle, func(w *world.World, h handle.Handle, done *world.Completion) error {
		return c.setNow(w, h, &body, done)
	}, "set", "component", body.Component, "path", body.Path, "value", body.Value)
}

// toDestroy is the body of a request to destroy an entity.
type toDestroy struct {
	Handle string `json:"handle"`
}

// destroy serves /api/entity/destroy: it destroys an entity. As set does, it first looks between
// two ticks whether there is one.
func (c *controls) destroy(w http.ResponseWriter, r *http.Request, body toDestroy) error {
	return c.request(w, r, body.Handle, func(w *world.World, h handle.Handle, done *world.Completion) error {
		if engine.Of(w).Space().Locate(h) == 0 {
			return notAlive(w, h)
		}
		return c.use(func(p *world.Port) error { return p.Notify(done).Destroy(h) })
	}, "destroy")
}

// request sends a request about an entity between two ticks, by send, and answers with its outcome,
// or with 202 if there is none yet. It logs what, with values. An error of send has sent nothing.
func (c *controls) request(w http.ResponseWriter, r *http.Request, of string, send func(*world.World, handle.Handle, *world.Completion) error, what string, values ...any) error {
	h, err := handle.Parse(of)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	var done world.Completion
	if err := c.do(r.Context(), func(w *world.World) error { return send(w, h, &done) }); err != nil {
		return err
	}
	c.changed(r, what, append([]any{"handle", h}, values...)...)
	wait := waitMax
	if c.s.Paused() {
		wait /= 20 // the next tick may not come for long
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	outcome, err := done.Wait(ctx)
	c.made()
	status := http.StatusOK
	if err != nil {
		status = http.StatusAccepted
	}
	writeJSON(w, status, object{"outcome": outcome.String()})
	return nil
}

// setNow sends a request with the idle world's value, or the value of the edit before, and one
// field changed. It runs between two ticks. After an error nothing was sent.
func (c *controls) setNow(w *world.World, h handle.Handle, body *toSet, done *world.Completion) error {
	id, f, err := c.schemas.of(w).fieldNamed(body.Component, body.Path)
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
		return refuse(http.StatusConflict, fmt.Sprintf("%v has no %s", h, body.Component))
	}
	next := reflect.New(space.TypeOf(id).Of).Elem()
	if last := c.lastEdit(h, id); last != nil {
		next.Set(last.value)
	} else {
		next.Set(reflect.ValueOf(store.ValueAt(space.Columns[id], l)))
	}
	if err := setField(f.Of(next), body.Value); err != nil {
		return refuse(http.StatusBadRequest, "value: "+err.Error())
	}
	err = c.use(func(p *world.Port) error { return d.SetBy(p.Notify(done), id, h, next.Interface()) })
	if err == nil {
		c.edits = append(c.edits, edit{h, id, next, done})
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
// must keep its fields. It runs between two ticks.
func (c *controls) lastEdit(h handle.Handle, component int) *edit {
	c.edits = slices.DeleteFunc(c.edits, func(e edit) bool { return e.done.Outcome() != world.Undecided })
	for i := range slices.Backward(c.edits) {
		if e := &c.edits[i]; e.of == h && e.component == component {
			return e
		}
	}
	return nil
}

// setField stores a JSON value in a field. Numbers may be text, because large ones and NaN are
// written so. After an error the field is unchanged.
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
