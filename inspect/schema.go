package inspect

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// schema is the part of the world that does not change, such as its components. If components are
// registered later, there is a new schema.
//
// Ownership: immutable.
type schema struct {
	*query.Schema
	plain      []bool // by component: a copy by assignment shares nothing with the world
	messages   []string
	resources  []string
	extensions int
	namings    []naming
}

// naming is an extension that gives entities names. Any goroutine may ask it.
type naming struct {
	label string
	extend.Naming
}

type entityName struct {
	Label string `json:"label"`
	Name  string `json:"name"`
}

// namesOf returns the names that an entity has now.
func (s *schema) namesOf(h handle.Handle) []entityName {
	all := []entityName{}
	for _, n := range s.namings {
		if name, ok := n.TextOf(h); ok {
			all = append(all, entityName{n.label, name})
		}
	}
	return all
}

// componentsOf returns the names of the components in a set.
func (s *schema) componentsOf(set store.Set) []string {
	names := []string{}
	for id := range set.All {
		names = append(names, s.Components[id].Name)
	}
	return names
}

// needs returns the components that a frame must have for a filter and for more, if frames can
// have those.
func (s *schema) needs(f *query.Filter, more ...int) store.Set {
	set := f.Needs()
	for _, id := range more {
		if s.Components[id].Framed {
			set.Add(id)
		}
	}
	return set
}

// edits reports whether the inspector can set a field of a component. Handles and the IDs of timers
// and asks are not for people to make up.
func (s *schema) edits(id int, f *query.Field) bool {
	return s.plain[id] && f.Open && !f.IsHandle() && !mem.IsSingle(f.Type)
}

// fieldNamed returns a field that can be set. An error is a refusal for the reader.
func (s *schema) fieldNamed(component, path string) (int, *query.Field, error) {
	id, err := s.Lookup(component)
	if err != nil {
		return 0, nil, err
	}
	fields := s.Components[id].Fields
	at := slices.IndexFunc(fields, func(f query.Field) bool { return f.Path == path })
	switch {
	case at < 0:
		return 0, nil, refuse(http.StatusBadRequest, fmt.Sprintf("%s has no field %q", component, path))
	case !s.edits(id, &fields[at]):
		return 0, nil, refuse(http.StatusBadRequest, fmt.Sprintf("the field %q of %s cannot be set from here: only exported numbers, truth values and texts, not handles or IDs, of components that frames copy as they are", path, component))
	}
	return id, &fields[at], nil
}

// schemas has the newest schema.
//
// Ownership: mu guards is.
type schemas struct {
	*visitor
	mu sync.Mutex
	is *schema
}

// now returns the schema at the last sample, or the schema of the idle world if there was none. Any
// goroutine may call it; the second may wait for the end of a tick. What was registered recently
// may be missing. It returns visitor.do's error.
func (s *schemas) now(ctx context.Context) (is *schema, err error) {
	s.mu.Lock()
	is = s.is
	s.mu.Unlock()
	if is == nil {
		err = s.do(ctx, func(w *world.World) error { is = s.of(w); return nil })
	}
	return is, err
}

// of returns the schema of the idle world, between two ticks. It makes a new one only if something
// was registered since the last.
func (s *schemas) of(w *world.World) *schema {
	survey := engine.Of(w).Survey()
	s.mu.Lock()
	defer s.mu.Unlock()
	extensions := survey.Extensions()
	if n := survey.Counts(); s.is != nil && n.Components == len(s.is.Components) && n.Resources == len(s.is.resources) &&
		len(survey.Messages()) == len(s.is.messages) && len(extensions) == s.is.extensions {
		return s.is
	}
	is := &schema{messages: []string{}, resources: []string{}, extensions: len(extensions)}
	space := engine.Of(w).Space()
	var components []query.Component
	for id, c := range survey.Components() {
		of := query.Component{Name: c.Name, Type: c.Type, Framed: survey.Copied(id)}
		if path, what := survey.Shares(id); what != 0 {
			of.WhyNot = fmt.Sprintf("%s is a %s, which a copy would share with the world; give the component a Component.CloneBy", path, what)
		}
		components, is.plain = append(components, of), append(is.plain, of.Framed && !space.Cloned(id))
	}
	is.Schema = query.NewSchema(components)
	for _, m := range survey.Messages() {
		is.messages = append(is.messages, m.Name)
	}
	for _, r := range survey.Resources() {
		is.resources = append(is.resources, r.Name)
	}
	for _, e := range extensions {
		if n, ok := e.(extend.Naming); ok {
			is.namings = append(is.namings, naming{e.Name(), n})
		}
	}
	s.is = is
	return is
}
