package inspect

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// serveWorld answers with the facts that do not change.
func (i *Inspector) serveWorld(w http.ResponseWriter, r *http.Request) error {
	s, err := i.schemas.now(r.Context())
	if err != nil {
		return err
	}
	components := []object{}
	for _, c := range s.Components {
		fields := []object{}
		for k := range c.Fields {
			f := &c.Fields[k]
			fields = append(fields, object{"path": f.Path, "type": f.Type.String(), "numeric": f.Numeric()})
		}
		components = append(components, object{
			"name": c.Name, "type": c.Type.String(), "size": c.Type.Size(), "framed": c.Framed, "why_not": c.WhyNot, "fields": fields,
		})
	}
	writeJSON(w, http.StatusOK, object{
		"name": i.o.Name, "version": version(), "started_ms": i.samples.began.UnixMilli(), "shards": i.w.Shards(), "workers": i.s.Workers(),
		"controls": i.o.Token != "", "components": components, "messages": s.messages, "resources": s.resources, "flags": 8,
	})
	return nil
}

// version returns the version of this module in the program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/atoll-sim/atoll" && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// serveMetrics answers with the figures for Prometheus.
func (i *Inspector) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	body, err := i.answers.of(r.Context(), "metrics", frameAge, func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, waitMax)
		defer cancel()
		return figures.AppendText(nil, i.figures.Read(ctx)), nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", figures.TextType)
	_, _ = w.Write(body) // if it fails, the reader is gone
	return nil
}

// servePlan answers with the order of the systems and their fences.
func (i *Inspector) servePlan(w http.ResponseWriter, r *http.Request) error {
	var p *scheduler.Plan
	err := i.do(r.Context(), func(*world.World) (err error) {
		if p, err = i.s.Plan(); err != nil {
			err = refuse(http.StatusConflict, err.Error())
		}
		return err
	})
	if err != nil {
		return err
	}
	systems, fences := []object{}, []object{}
	for _, s := range p.Systems {
		systems = append(systems, object{
			"name": s.Name, "stage": s.Stage.String(), "global": s.Global, "enabled": s.Enabled, "every": s.Every, "offset": s.Offset,
			"after": append([]string{}, s.After...), "before": append([]string{}, s.Before...), "conditions": s.Conditions, "merge": s.Merge,
		})
	}
	for _, f := range p.Fences {
		reasons := []object{}
		for _, why := range f.Reasons {
			reasons = append(reasons, object{"name": why.Name, "first": why.First, "then": why.Then})
		}
		fences = append(fences, object{"system": f.System, "after": f.After, "near": f.Near, "reasons": reasons})
	}
	writeJSON(w, http.StatusOK, object{"systems": systems, "fences": fences})
	return nil
}
