package main

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/atoll-sim/atoll/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/hierarchy"
	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/names"
	"github.com/atoll-sim/atoll/near"
	"github.com/atoll-sim/atoll/prefab"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/timer"
	"github.com/atoll-sim/atoll/world"
)

const (
	tick  = 100 * time.Millisecond
	side  = 1000.0 // of the zone, a square
	sight = 80.0   // how far clients see

	absent world.Flags = 1 // has no client
	dead   world.Flags = 2 // until its timer is due
)

type (
	Position = near.Point
	Goal     struct { // as clients send it
		X, Y  float64
		Fight bool // the foes in sight
	}
	Body struct {
		Speed, Sight, Reach float64
		Weapon              handle.Handle // a child
	}
	Weapon  struct{ Damage int }
	Health  struct{ Points, Max int }
	Monster struct{ Kind string }
	Player  struct {
		Name  string
		Score int
	}
	Rise struct{}
	Hit  struct {
		By     handle.Handle
		Points int
	}
)

// newZone makes an empty zone.
func newZone() (*zone, error) {
	w := world.MustNew(world.Options{TickInterval: tick, IndexMax: 1 << 20, QueueRequests: 32, VersionsEach: 10_000})
	z := &zone{world: w, systems: scheduler.New(w, scheduler.Options{}), names: names.New[string](w, "names", names.Options{})}
	z.position, z.goal, z.player = world.Register[Position](w, "position"), world.Register[Goal](w, "goal"), world.Register[Player](w, "player")
	z.health = world.Register[Health](w, "health")
	monster := world.Register[Monster](w, "monster")
	world.Register[Body](w, "body")
	world.Register[Weapon](w, "weapon")

	here := world.WithoutFlags(w, absent|dead)
	index := func(who ...world.Term) *near.Index {
		space := near.Options{Max: near.Point{X: side, Y: side}, Cell: sight}
		return near.New(w, func(p Position) near.Point { return p }, space, append(who, here)...)
	}
	all, players, monsters := index(), index(world.With[Player](w)), index(world.With[Monster](w))
	z.views = interest.New(w, all, interest.Options{}, interest.Encode(appendPosition), interest.Encode(appendHealth),
		interest.Encode(appendMonster), interest.Encode(appendPlayer))

	scored := world.RegisterMessage[async.Result[int]](w, "scored")
	best := async.New(w, "best", scored, z.best, async.Options{Again: true}) // it may run twice without harm
	z.score = world.RegisterFunc(w, "score", func(self *world.EntityContext, points int) {
		if p := z.player.Write(self); p != nil {
			p.Score += points
			_, _ = best.Go(self, self.Handle(), *p)
		}
	})
	rise := timer.New(w, "rise", world.RegisterMessage[Rise](w, "rise"), timer.Options{})
	hit := world.RegisterFunc(w, "hit", func(self *world.EntityContext, by Hit) {
		h := z.health.Write(self)
		if h.Points > 0 && h.Points <= by.Points {
			_ = world.Flag(self, self.Handle(), dead)
			_, _ = rise.After(self, self.Handle(), int(5*time.Second/tick), Rise{})
			_ = z.score.Call(self, by.By, 1)
		}
		h.Points = max(0, h.Points-by.Points)
	})
	z.systems.MustAdd("live", live)
	z.systems.MustAdd("hunt", act(world.With[Monster], players, hit))
	z.systems.MustAdd("defend", act(world.With[Player], monsters, hit))

	var noKinds, noView error
	z.kinds, noKinds = prefab.Load(w, files, "prefabs/*.json", hierarchy.New(w, "holds", hierarchy.Options{}))
	z.view, noView = w.NewView(all, z.position, z.health, monster, z.player)
	return z, errors.Join(noKinds, noView)
}

// populate makes the monsters.
func (z *zone) populate(w *world.World) (err error) {
	for i := range 100 {
		x, y := float64(i%10*100+50), float64(i/10*100+50)
		_, e := z.kinds[[]string{"rat", "wolf", "orc"}[i%3]].Create(w,
			prefab.With(z.position, Position{X: x, Y: y}), prefab.With(z.goal, Goal{x, y, true}))
		err = errors.Join(err, e)
	}
	return err
}

// live revives the dead, and gives players their best score.
func live(b *world.Build) func(*world.Context) {
	rises, scores := world.Receive[Rise](b), world.Receive[async.Result[int]](b)
	health, players := world.Write[Health](b), world.Write[Player](b)
	return func(c *world.Context) {
		for _, m := range rises.All() {
			health.Get(m.To).Points = health.Get(m.To).Max
			_ = world.Unflag(c, m.To, dead)
		}
		for _, m := range scores.All() { // 0 if the database failed
			p := players.Get(m.To)
			p.Score = max(p.Score, m.Body.Value)
		}
	}
}

// act lets characters walk to their goal. Those that fight walk to the nearest foe in sight, and hit it within reach.
func act(of func(world.Binder) world.Term, foes *near.Index, hit *world.Func[Hit]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		positions, goals, bodies := world.Write[Position](b), world.Read[Goal](b), world.Read[Body](b)
		weapons, around := world.Read[Weapon](b), foes.Read(b)
		some := b.Query(positions, goals, bodies, of(b), world.WithoutFlags(b, absent|dead))
		var found []near.Hit
		return func(c *world.Context) {
			for ch := range some.Chunks() {
				for i, goal := range goals.Slice(ch) {
					p, body := &positions.Slice(ch)[i], bodies.Slice(ch)[i]
					to := Position{X: goal.X, Y: goal.Y}
					if found = around.AppendNearest(found[:0], *p, 1, body.Sight); goal.Fight && len(found) > 0 {
						to = found[0].At
						if found[0].Distance2 <= body.Reach*body.Reach {
							to = *p
							_ = hit.Call(c, found[0].Handle, Hit{ch.Handle(i), weapons.Get(body.Weapon).Damage})
						}
					}
					far := max(math.Hypot(to.X-p.X, to.Y-p.Y), 1e-9)
					part := min(1, body.Speed*c.Delta()/far)
					p.X, p.Y = p.X+(to.X-p.X)*part, p.Y+(to.Y-p.Y)*part
				}
			}
		}
	}
}

func appendPosition(b []byte, p *Position) []byte {
	return binary.LittleEndian.AppendUint32(b, uint32(p.X*64)|uint32(p.Y*64)<<16)
}
func appendHealth(b []byte, h *Health) []byte   { return append(b, byte(h.Points*255/h.Max)) }
func appendText(b []byte, s string) []byte      { return append(append(b, byte(len(s))), s...) }
func appendMonster(b []byte, m *Monster) []byte { return appendText(b, m.Kind) }
func appendPlayer(b []byte, p *Player) []byte {
	return binary.AppendUvarint(appendText(b, p.Name), uint64(p.Score))
}
