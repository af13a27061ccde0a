package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components, messages and resources of the tests.
type (
	// Body has padding, and bools.
	Body struct {
		Small  uint8
		Sum    uint64
		Loud   [3]bool
		Target handle.Handle
	}
	// Label holds what a codec, a text and CBOR write.
	Label struct {
		Text  string
		Code  Code
		Items []Item
		Bag   map[string]int32
		Next  *Item
	}
	Code struct{ N *int64 } // has a codec
	Item struct {
		Name string
		N    int16
	}
	Extra struct{ N int32 }
	Tag   struct{}

	Hit   struct{ Damage uint32 }
	Note  struct{ Text string }
	Order struct {
		Who handle.Handle
		N   uint32
	}

	Rules struct {
		Pace  float32
		Title string
	}
	Tally struct{ N uint64 }

	Unit struct {
		Body
		Label
	}
	Plain struct {
		Body
		Extra
	}
)

// sea is a world with something of everything that is saved.
type sea struct {
	*world.World
	t         testing.TB
	scheduler *scheduler.Scheduler
	hasher    *state.Hasher
	options   snapshot.Options
	clock     uint64 // of the game, beside the world
	saw       [][]string

	body  *world.Component[Body]
	label *world.Component[Label]
	extra *world.Component[Extra]
	tag   *world.Component[Tag]
	hit   *world.Message[Hit]
	note  *world.Message[Note]
	rules *world.Resource[Rules]
	unit  *world.Bundle[Unit]
	plain *world.Bundle[Plain]
	order *world.Func[Order]
	kin   *hierarchy.Relation
	refs  *hierarchy.Relation
	names *names.Names[string]
	hooks []*world.Hook

	ports []*world.Port
	known []handle.Handle
}

// codecs has that of Code.
func codecs() *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[Code]{
		Append: func(dst []byte, v *Code) []byte {
			if v.N == nil {
				return dst
			}
			return fmt.Append(dst, *v.N)
		},
		Read: func(src []byte, v *Code) error {
			if len(src) == 0 {
				return nil
			}
			v.N = new(int64)
			_, err := fmt.Sscan(string(src), v.N)
			return err
		},
	})
	return c
}

// options are those of the worlds of the tests. Versions run out.
func options() world.Options {
	return world.Options{Shards: 3, Seed: 5, VersionMax: 30, ChunkRowsFirst: 4, ChunkRowsFactor: 2, ChunkRowsMax: 64, PortsMax: 64}
}

func newSea(t testing.TB, o world.Options, workers int) *sea {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	x := &sea{World: w, t: t, saw: make([][]string, w.Shards())}
	x.body = world.Register[Body](w, "body")
	x.label = world.Register[Label](w, "label")
	x.extra = world.Register[Extra](w, "extra")
	x.tag = world.Register[Tag](w, "tag")
	x.hit = world.RegisterMessage[Hit](w, "hit")
	x.note = world.RegisterMessage[Note](w, "note")
	x.rules = world.RegisterResource(w, "rules", Rules{1, "first"})
	world.RegisterAccumulator(w, "tally", func(total, part *Tally) { total.N += part.N })
	x.unit = world.NewBundle[Unit](w)
	x.plain = world.NewBundle[Plain](w).PlaceBy(func(p Plain) int { return int(p.Small) % w.Shards() })
	x.order = world.RegisterFunc(w, "order", x.obey)
	x.kin = hierarchy.New(w, "kin", hierarchy.Options{})
	x.refs = hierarchy.New(w, "refs", hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
	x.names = names.New[string](w, "names", names.Options{})
	x.observe("all", world.OnCreate|world.OnDestroy)
	x.observe("changes", world.OnAdd|world.OnRemove|world.OnSet, x.extra)
	x.observe("tags", world.OnAdd|world.OnRemove, x.tag)
	x.scheduler = scheduler.New(w, scheduler.Options{Workers: workers, Balancer: scheduler.Level(scheduler.LevelOptions{Above: 1.05, Until: 1, Least: 1, Limit: 7})})
	x.scheduler.MustAdd("live", x.live)
	x.scheduler.MustAdd("rare", x.rare, scheduler.Every(3, 1))
	x.scheduler.MustAdd("fragile", x.fragile, scheduler.IfPanics(scheduler.DisableOnShard))
	w.Pin(x.tag)
	x.options = snapshot.Options{
		Codecs: codecs(), Scheduler: x.scheduler, Workers: workers, Compression: snapshot.None,
		Extras: []snapshot.Extra{{
			Name:   "clock",
			Append: func(dst []byte) []byte { return fmt.Append(dst, x.clock) },
			Read:   func(src []byte) error { _, err := fmt.Sscan(string(src), &x.clock); return err },
		}},
	}
	x.hasher = state.NewHasher(w, x.options.Codecs)
	x.hasher.Add("systems", x.scheduler.AppendState)
	return x
}

// see notes what somebody has seen on a shard.
func (x *sea) see(shard int, format string, args ...any) {
	x.saw[shard] = append(x.saw[shard], fmt.Sprintf(format, args...))
}

func (x *sea) observe(name string, on world.Event, parts ...world.ComponentSet) {
	x.hooks = append(x.hooks, x.Observe(name, on, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		b.Creates(x.plain)
		return func(c *world.Context, on world.Event, hs []handle.Handle) {
			x.see(c.Shard(), "%s %v %v", name, on, hs)
			if h := hs[0]; c.Tick()%3 == 0 && c.Alive(h) {
				_ = x.hit.Send(c, h, Hit{uint32(on)}) // by the next refresh
				_ = x.note.SendShard(c, (c.Shard()+1)%c.Shards(), Note{name})
				_ = x.order.Call(c, h, Order{h, uint32(c.Tick())})
			}
		}
	}, parts...))
}

// obey is a function that writes, and sends what the next refresh applies.
func (x *sea) obey(self *world.EntityContext, o Order) {
	x.body.Write(self).Sum += uint64(o.N) + uint64(self.Status(o.Who))<<40
	_ = x.hit.Send(self, o.Who, Hit{o.N})
	switch o.N % 5 {
	case 0:
		_ = x.label.Add(self, self.Handle(), label(int64(o.N)))
	case 1:
		_ = x.extra.Add(self, self.Handle(), Extra{int32(o.N)})
	case 2:
		_ = x.note.SendShard(self, int(o.N)%x.Shards(), Note{"from a function"})
	case 3:
		_ = world.Move(self, self.Handle(), int(o.N)%x.Shards())
	case 4:
		_ = x.kin.AddChild(self, o.Who, self.Handle())
	}
}

func label(n int64) Label {
	l := Label{Text: fmt.Sprint("label ", n), Code: Code{&n}}
	if n%2 == 0 {
		l.Items = []Item{{"a", int16(n)}, {"", 0}}
		l.Bag = map[string]int32{"z": int32(n), "a": 1, "": 2}
	}
	if n%3 == 0 {
		l.Next = &Item{"next", 1}
		l.Items = []Item{}
	}
	return l
}

// live ages by chance: all that systems know shows in sums.
func (x *sea) live(b *world.Build) func(*world.Context) {
	body, hits, notes := world.Write[Body](b), world.Receive[Hit](b), world.Receive[Note](b)
	tally, rules := world.Accumulate[Tally](b), world.ReadResource[Rules](b)
	all := b.Query(body)
	fresh := b.Query(body, world.WithoutFlags(b, 2))
	b.Creates(x.plain)
	return func(c *world.Context) {
		for _, e := range hits.All() {
			if p := body.Get(e.To); p != nil {
				p.Sum = p.Sum*31 + uint64(e.Body.Damage)
			}
		}
		for _, e := range notes.All() {
			x.see(c.Shard(), "note %v %q", e.To, e.Body.Text)
		}
		for ch := range all.Chunks() {
			rows, hs := body.Slice(ch), ch.Handles()
			for i := range rows {
				p := &rows[i]
				p.Sum = p.Sum*3 + uint64(c.Status(p.Target)) + uint64(len(rules.Get().Title)) + uint64(world.FlagsOf(c, p.Target))<<20
				p.Loud[1] = p.Sum%2 == 0
				tally.N += p.Sum
				switch c.Rand().IntN(60) {
				case 0:
					_ = c.Destroy(hs[i])
				case 1:
					h, err := x.plain.Create(c, Plain{Body: Body{Small: uint8(p.Sum), Target: hs[i]}})
					x.see(c.Shard(), "made %v %v", h, err)
				case 2:
					_ = world.Move(c, hs[i], int(p.Sum%uint64(c.Shards())))
				case 3:
					_ = world.AddFlags(c, hs[i], world.Flags(1<<(p.Sum%8)))
				case 4:
					_ = x.tag.Add(c, hs[i], Tag{})
				case 5:
					_ = x.extra.Remove(c, hs[i])
				case 6:
					_ = x.names.Bind(c, hs[i], fmt.Sprint("n", p.Sum%50))
				case 7:
					_ = x.refs.AddChild(c, p.Target, hs[i])
				case 8:
					_ = x.kin.Move(c, hs[i], p.Target)
				}
			}
		}
		x.see(c.Shard(), "%d of %d", fresh.Count(), all.Count())
	}
}

// rare looks at stamps, every few ticks.
func (x *sea) rare(b *world.Build) func(*world.Context) {
	all := b.Query(world.Read[Extra](b))
	return func(c *world.Context) {
		n := 0
		for ch := range all.ChunksSince(max(4, c.Tick()) - 4) {
			n += ch.Len()
		}
		x.see(c.Shard(), "changed %d", n)
	}
}

var errFragile = errors.New("fragile")

// fragile panics once on a shard, and is off there from then on.
func (x *sea) fragile(b *world.Build) func(*world.Context) {
	return func(c *world.Context) {
		x.see(c.Shard(), "fragile")
		if c.Tick() == 6 && c.Shard() == 1 {
			panic(errFragile)
		}
	}
}

// step makes a tick.
func (x *sea) step() {
	x.t.Helper()
	if err := x.scheduler.Step(x.t.Context()); err != nil {
		require.ErrorIs(x.t, err, errFragile)
	}
	x.clock++
}

// openPorts opens ports, anew.
func (x *sea) openPorts() {
	x.t.Helper()
	x.closePorts()
	for range 3 {
		p, err := x.OpenPort()
		require.NoError(x.t, err)
		x.ports = append(x.ports, p)
	}
}

func (x *sea) closePorts() {
	for _, p := range x.ports {
		p.Close()
	}
	x.ports = nil
}

// send sends by ports what the dice say.
func (x *sea) send(dice *rand.Rand, n int) {
	for range n {
		p := x.ports[dice.IntN(len(x.ports))]
		h, k := x.someone(dice), dice.Int64N(1000)
		switch dice.IntN(8) {
		case 0, 1:
			h, err := x.unit.Create(p, Unit{Body{Small: uint8(k), Target: h}, label(k)})
			require.NoError(x.t, err)
			x.known = append(x.known, h)
		case 2:
			h, err := x.plain.Create(p, Plain{Body: Body{Small: uint8(k), Target: h}})
			require.NoError(x.t, err)
			x.known = append(x.known, h)
		case 3:
			_ = p.Destroy(h)
		case 4:
			_ = x.order.Call(p, h, Order{x.someone(dice), uint32(k)})
		case 5:
			_ = x.label.Add(p, h, label(k))
		case 6:
			_ = x.kin.AddChild(p, x.someone(dice), h)
		case 7:
			_ = x.names.Bind(p, h, fmt.Sprint("p", k%40))
		}
	}
}

func (x *sea) someone(dice *rand.Rand) handle.Handle {
	if len(x.known) == 0 {
		return handle.None
	}
	return x.known[dice.IntN(len(x.known))]
}

// meddle does on the idle world what the dice say.
func (x *sea) meddle(dice *rand.Rand, n int) {
	for range n {
		h, k := x.someone(dice), dice.Int64N(1000)
		switch dice.IntN(12) {
		case 0:
			h, err := x.unit.Create(x.World, Unit{Body{Small: uint8(k), Target: h}, label(k)})
			require.NoError(x.t, err)
			x.known = append(x.known, h)
		case 1:
			x.Destroy(h)
		case 2:
			_ = world.AddFlags(x.World, h, world.Flags(k))
		case 3:
			_ = world.RemoveFlags(x.World, h, world.Flags(k))
		case 4:
			_ = x.extra.Add(x.World, h, Extra{int32(k)})
		case 5:
			_ = x.extra.Remove(x.World, h)
		case 6:
			_ = x.hit.Send(x.World, h, Hit{uint32(k)})
		case 7:
			_ = world.Move(x.World, h, int(k)%x.Shards())
		case 8:
			_ = x.order.Call(x.World, h, Order{x.someone(dice), uint32(k)})
		case 9:
			_ = x.names.Bind(x.World, h, fmt.Sprint("w", k%40))
		case 10:
			x.rules.Set(Rules{float32(k), fmt.Sprint("title ", k)})
		case 11:
			_ = x.tag.Add(x.World, h, Tag{})
		}
	}
}

func (x *sea) hash() state.Hash {
	x.t.Helper()
	h, err := x.hasher.StateHash()
	require.NoError(x.t, err)
	return h
}

func (x *sea) save() []byte {
	x.t.Helper()
	var b bytes.Buffer
	require.NoError(x.t, snapshot.Write(&b, x.World, x.options))
	asText(x.t, b.Bytes())
	return b.Bytes()
}

func (x *sea) load(image []byte) {
	x.t.Helper()
	require.NoError(x.t, snapshot.Load(bytes.NewReader(image), x.World, x.options))
}
