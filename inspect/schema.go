package inspect

import (
	"fmt"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
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

// schemas has the newest schema.
//
// Ownership: mu guards is.
type schemas struct {
	mu sync.Mutex
	is *schema
}

// known returns the schema at the last sample, or nil.
func (s *schemas) known() *schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is
}

// of returns the schema of the idle world.
func (s *schemas) of(w *world.World) *schema {
	survey := engine.Of(w).Survey()
	s.mu.Lock()
	defer s.mu.Unlock()
	extensions := survey.Extensions()
	if n := survey.Counts(); s.is != nil && n.Components == len(s.is.Components) && n.Resources == len(s.is.resources) &&
		len(survey.Messages()) == len(s.is.messages) && len(extensions) == s.is.extensions {
		return s.is
	}
	x := &schema{messages: []string{}, resources: []string{}, extensions: len(extensions)}
	space := engine.Of(w).Space()
	var components []query.Component
	for id, c := range survey.Components() {
		of := query.Component{Name: c.Name, Type: c.Type, Framed: survey.Copied(id)}
		if path, what := survey.Shares(id); what != 0 {
			of.WhyNot = fmt.Sprintf("%s is a %s, which a copy would share with the world; give the component a Component.CloneBy", path, what)
		}
		components, x.plain = append(components, of), append(x.plain, of.Framed && !space.Cloned(id))
	}
	x.Schema = query.NewSchema(components)
	for _, m := range survey.Messages() {
		x.messages = append(x.messages, m.Name)
	}
	for _, r := range survey.Resources() {
		x.resources = append(x.resources, r.Name)
	}
	for i, e := range extensions {
		if n, ok := e.(extend.Naming); ok {
			x.namings = append(x.namings, naming{extend.NameOf(e, i), n})
		}
	}
	s.is = x
	return x
}
