package main

import (
	"math"

	"github.com/atoll-sim/atoll/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/near"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/timer"
	"github.com/atoll-sim/atoll/world"
)

const (
	side  = 1000.0 // of the zone, a square
	sight = 80.0   // how far clients see

	absent  world.Flags = 1 // has no client
	loading world.Flags = 2 // its row is not there yet
	dead    world.Flags = 4 // until its timer is due
	away                = absent | loading | dead
)

type (
	Position struct{ X, Y float64 }
	Goal     struct {
		X, Y  float64
		Fight bool // whom one sees
	}
	Body struct {
		Speed, Sight, Reach float64
		Weapon              handle.Handle // a child
	}
	Name   struct{ Text string }
	Health struct{ Points, Max int }
	Weapon struct{ Damage int }
	Player struct{ Score int } // others are monsters

	Hit struct {
		By     handle.Handle
		Points int
	}
	Kill struct{} // for who did it
	Rise struct{}
	Row  struct { // of the database
		Name  string
		Score int
	}
)

// live does what messages say. What it asks for is never refused, or matters little.
func live(kill *world.Message[Kill], rise *timer.Timers[Rise], save *async.Call[Row, int]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		hits, kills := world.Receive[Hit](b), world.Receive[Kill](b)
		rises, scores := world.Receive[Rise](b), world.Receive[async.Result[int]](b)
		health, players, names := world.Write[Health](b), world.Write[Player](b), world.Read[Name](b)
		return func(c *world.Context) {
			for _, m := range hits.All() {
				h := health.Get(m.To)
				before := h.Points
				if h.Points = max(0, before-m.Body.Points); before > 0 && h.Points == 0 {
					_ = world.Flag(c, m.To, dead)
					_ = kill.Send(c, m.Body.By, Kill{})
					_, _ = rise.After(c, m.To, int(5/c.Delta()), Rise{})
				}
			}
			for _, m := range kills.All() {
				if p := players.Get(m.To); p != nil {
					p.Score++
					_, _ = save.Go(c, m.To, Row{names.Get(m.To).Text, p.Score})
				}
			}
			for _, m := range rises.All() {
				if h := health.Get(m.To); h != nil {
					h.Points = h.Max
				}
				_ = world.Unflag(c, m.To, dead)
			}
			for _, m := range scores.All() { // if the database failed, what the world knows counts
				p := players.Get(m.To)
				p.Score = max(p.Score, m.Body.Value)
				_ = world.Unflag(c, m.To, loading)
			}
		}
	}
}

// fight has some, each once in four ticks, go to the nearest foe in sight, or hit the one in reach.
func fight(of func(world.Binder) world.Term, foes *near.Index, hit *world.Message[Hit]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		positions, bodies, goals := world.Read[Position](b), world.Read[Body](b), world.Write[Goal](b)
		weapons, around := world.Read[Weapon](b), foes.Read(b)
		fighters := b.Query(positions, bodies, goals, of(b), world.WithoutFlags(b, away), world.Turns(b, 4))
		var found []near.Hit
		return func(c *world.Context) {
			for ch := range fighters.Chunks() {
				for i, p := range positions.Slice(ch) {
					body, goal := bodies.Slice(ch)[i], &goals.Slice(ch)[i]
					found = around.AppendNearest(found[:0], near.Point{X: p.X, Y: p.Y}, 1, body.Sight)
					if len(found) == 0 || !goal.Fight {
						continue
					}
					far, foe := math.Sqrt(found[0].Distance2), found[0]
					part := max(0, 1-0.8*body.Reach/far) // of the way, to stand before the foe
					goal.X, goal.Y = p.X+(foe.At.X-p.X)*part, p.Y+(foe.At.Y-p.Y)*part
					if far <= body.Reach {
						_ = hit.Send(c, foe.Handle, Hit{ch.Handle(i), weapons.Get(body.Weapon).Damage})
					}
				}
			}
		}
	}
}

// walk takes everybody nearer to the goal.
func walk(b *world.Build) func(*world.Context) {
	positions, goals, bodies := world.Write[Position](b), world.Read[Goal](b), world.Read[Body](b)
	walkers := b.Query(positions, goals, bodies, world.WithoutFlags(b, away))
	return func(c *world.Context) {
		for ch := range walkers.Chunks() {
			p, g, who := positions.Slice(ch), goals.Slice(ch), bodies.Slice(ch)
			for i := range p {
				x, y := g[i].X-p[i].X, g[i].Y-p[i].Y
				part := min(1, who[i].Speed*c.Delta()/max(math.Hypot(x, y), 1e-9))
				p[i] = Position{p[i].X + x*part, p[i].Y + y*part}
			}
		}
	}
}
