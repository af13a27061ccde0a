package inspect

import (
	"net/http"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// planNow returns the plan of the scheduler, of the idle world.
func (x *Inspector) planNow(w *world.World) (*scheduler.Plan, error) {
	p, err := x.s.Plan()
	if err == nil {
		stages := map[string]string{}
		for _, s := range p.Systems {
			stages[s.Name] = s.Stage.String()
		}
		x.stages.Store(&stages)
	}
	return p, err
}

// stageOf returns the stage of a system, as of the last plan.
func (x *Inspector) stageOf(name string) string {
	if all := x.stages.Load(); all != nil {
		return (*all)[name]
	}
	return ""
}

// servePlan answers with the order of the systems and their fences.
func (x *Inspector) servePlan(w http.ResponseWriter, r *http.Request) error {
	var p *scheduler.Plan
	var err error
	failed := x.asks.do(r.Context(), func(w *world.World) { p, err = x.planNow(w) })
	if failed != nil {
		return failed
	}
	if err != nil {
		return refuse(http.StatusConflict, err.Error())
	}
	type systemJSON struct {
		Name       string   `json:"name"`
		Stage      string   `json:"stage"`
		Global     bool     `json:"global"`
		Enabled    bool     `json:"enabled"`
		Every      int      `json:"every"`
		Offset     int      `json:"offset"`
		After      []string `json:"after"`
		Before     []string `json:"before"`
		Conditions int      `json:"conditions"`
		Merge      bool     `json:"merge"`
	}
	type reasonJSON struct {
		Name  string `json:"name"`
		First string `json:"first"`
		Then  string `json:"then"`
	}
	type fenceJSON struct {
		System  string       `json:"system"`
		After   string       `json:"after"`
		Near    bool         `json:"near"`
		Reasons []reasonJSON `json:"reasons"`
	}
	systems, fences := []systemJSON{}, []fenceJSON{}
	for _, s := range p.Systems {
		systems = append(systems, systemJSON{
			s.Name, s.Stage.String(), s.Global, s.Enabled, s.Every, s.Offset, append([]string{}, s.After...), append([]string{}, s.Before...), s.Conditions, s.Merge,
		})
	}
	for _, f := range p.Fences {
		of := fenceJSON{f.System, f.After, f.Near, []reasonJSON{}}
		for _, y := range f.Reasons {
			of.Reasons = append(of.Reasons, reasonJSON(y))
		}
		fences = append(fences, of)
	}
	writeJSON(w, http.StatusOK, struct {
		Systems []systemJSON `json:"systems"`
		Fences  []fenceJSON  `json:"fences"`
	}{systems, fences})
	return nil
}
