package inspect

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

const (
	childrenMax   = 100
	referencesMax = 100
)

// entity is the answer of /api/entity.
type entity struct {
	Tick       uint64            `json:"tick"`
	Handle     handle.Handle     `json:"handle"`
	Status     string            `json:"status"`
	Shard      int               `json:"shard"` // -1 for one that is not alive
	Flags      json.RawMessage   `json:"flags"`
	Components []entityComponent `json:"components"`
	Names      []entityName      `json:"names"`
	Relations  []entityRelation  `json:"relations"`
	References []reference       `json:"references"`
}

type entityComponent struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Value  json.RawMessage `json:"value"`
	Fields []entityField   `json:"fields"`
	WhyNot string          `json:"why_not,omitempty"`

	id   int
	copy reflect.Value // an assigned copy of the value, so it may share memory with the world
}

type entityField struct {
	Path     string          `json:"path"`
	Type     string          `json:"type"`
	Value    json.RawMessage `json:"value"`
	Editable bool            `json:"editable"`
}

type entityRelation struct {
	Label    string          `json:"label"`
	Parent   string          `json:"parent"` // "" for none
	Children []handle.Handle `json:"children"`
	Count    int             `json:"children_count"`
}

type reference struct {
	Component string        `json:"component"`
	Path      string        `json:"path"`
	Handle    handle.Handle `json:"handle"`
	Status    string        `json:"status"`
}

// single describes an entity, once for all simultaneous readers.
func (e *entities) single(r *http.Request) (view, error) {
	p := parametersOf(r, "handle")
	h := p.handle("handle")
	if h == handle.None {
		p.fail("the parameter handle is missing")
	}
	return func(ctx context.Context) ([]byte, error) {
		return e.answers.of(ctx, "entity?"+h.String(), frameAge/2, func(ctx context.Context) ([]byte, error) {
			var one entity
			var s *schema
			err := e.do(ctx, func(w *world.World) error {
				s = e.schemas.of(w)
				one.read(w, s, h)
				return nil
			})
			if err != nil {
				return nil, err
			}
			one.write(s)
			return json.Marshal(&one)
		})
	}, p.err
}

// read copies what the entity has from the idle world. It calls no method of a user's type, and
// bounds its work, because the next tick waits for it.
func (e *entity) read(w *world.World, s *schema, h handle.Handle) {
	d := driver.Of(w)
	space := d.Space()
	*e = entity{
		Tick: w.Tick(), Handle: h, Status: w.Status(h).String(), Shard: -1, Flags: appendFlags(nil, 0),
		Components: []entityComponent{}, Names: []entityName{}, Relations: []entityRelation{}, References: []reference{},
	}
	l := space.Locate(h)
	if l == 0 {
		return
	}
	e.Shard, e.Flags = space.Owner(l), appendFlags(nil, uint8(space.FlagsAt(l)))
	for id := range space.Set(l).All {
		c := &s.Components[id]
		of := entityComponent{Name: c.Name, Type: c.Type.String(), WhyNot: c.WhyNot, id: id, copy: reflect.New(c.Type).Elem()}
		of.copy.Set(reflect.ValueOf(store.ValueAt(space.Columns[id], l)))
		if !s.plain[id] {
			of.Value = appendValue(nil, of.copy, false)
		}
		for i := range c.Fields {
			if f := &c.Fields[i]; f.IsHandle() && len(e.References) < referencesMax {
				if to := handle.Handle(f.Of(of.copy).Uint()); to != handle.None {
					e.References = append(e.References, reference{c.Name, f.Path, to, w.Status(to).String()})
				}
			}
		}
		e.Components = append(e.Components, of)
	}
	e.Names = s.namesOf(h)
	for i, of := range d.Survey().Extensions() {
		if f, ok := of.(drive.Family); ok {
			e.relate(drive.NameOf(of, i), f)
		}
	}
}

// relate adds the entity's place in a relation, if it is in it.
func (e *entity) relate(label string, f drive.Family) {
	r := entityRelation{Label: label, Children: []handle.Handle{}}
	if p := f.Parent(e.Handle); p != handle.None {
		r.Parent = p.String()
	}
	children, _ := f.Children(e.Handle)
	for _, child := range children {
		if child == handle.None {
			continue
		}
		if r.Count++; r.Count <= childrenMax {
			r.Children = append(r.Children, child)
		}
	}
	if r.Parent != "" || r.Count > 0 {
		e.Relations = append(e.Relations, r)
	}
}

// write completes the description from the copies.
func (e *entity) write(s *schema) {
	for i := range e.Components {
		c := &e.Components[i]
		if c.Fields = []entityField{}; c.Value == nil {
			c.Value = appendValue(nil, c.copy, true)
		}
		fields := s.Components[c.id].Fields
		for k := range fields {
			f := &fields[k]
			v := f.Of(c.copy)
			cut := f.Type.Kind() == reflect.String && v.Len() > textMax // setting it would cut the value for good
			c.Fields = append(c.Fields, entityField{f.Path, f.Type.String(), appendValue(nil, v, false), s.edits(c.id, f) && !cut})
		}
	}
}
