package inputlog_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components and messages of the tests.
type (
	// Body has padding, and a bool.
	Body struct {
		Small  uint8
		Target handle.Handle
		Loud   bool
		Sum    uint64
	}
	Label struct{ Text string } // needs a codec
	Extra struct{ N int32 }

	Hit   struct{ Damage uint32 }
	Note  struct{ Text string }
	Order struct {
		Who handle.Handle
		N   uint32
	}

	Unit struct {
		Body
		Label
	}
	Plain struct{ Body }
)

// codecs are those of Label and Note.
func codecs() *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[Label]{
		Append: func(dst []byte, v *Label) []byte { return append(dst, v.Text...) },
		Read:   func(src []byte, v *Label) error { v.Text = string(src); return nil },
	})
	state.Register(c, state.Codec[Note]{
		Append: func(dst []byte, v *Note) []byte { return append(dst, v.Text...) },
		Read:   func(src []byte, v *Note) error { v.Text = string(src); return nil },
	})
	return c
}

// refuses reports whether all ticks are sealed, and checks that the idle world then refuses a change,
// which no log would have.
func refuses(t testing.TB, change func()) (sealed bool) {
	t.Helper()
	if sealed = inputlog.Sealed; sealed {
		defer func() {
			t.Helper()
			require.Contains(t, fmt.Sprint(recover()), "cannot be changed while ticks are sealed")
		}()
		change()
	}
	return sealed
}

// sea is a world with something of everything that ports can ask for.
type sea struct {
	*world.World
	scheduler *scheduler.Scheduler
	hasher    *state.Hasher

	body  *world.Component[Body]
	label *world.Component[Label]
	extra *world.Component[Extra]
	hit   *world.Message[Hit]
	note  *world.Message[Note]
	unit  *world.Bundle[Unit]
	plain *world.Bundle[Plain]
	order *world.Func[Order]
	ask   *world.Question[Order, uint64]
	kin   *hierarchy.Relation
	deal  *world.Transaction[Order, uint64]
}

// options are those of the worlds of the tests. Versions run out.
func options() world.Options {
	return world.Options{Shards: 3, Seed: 5, VersionMax: 40, QueueRequests: 100, PortsMax: 64, IndexMax: 1 << 16}
}

// newSea makes a world with units.
func newSea(t testing.TB, o world.Options, s scheduler.Options) *sea {
	t.Helper()
	x := emptySea(t, o, s)
	for i := range 300 {
		_, err := x.unit.Create(x.World, Unit{Body{Small: uint8(i)}, Label{"old"}})
		require.NoError(t, err)
	}
	return x
}

func emptySea(t testing.TB, o world.Options, s scheduler.Options) *sea {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	engine.Of(w).Scatter(16)
	x := &sea{World: w}
	x.body = world.Register[Body](w, "body")
	x.label = world.Register[Label](w, "label")
	x.extra = world.Register[Extra](w, "extra")
	x.hit = world.RegisterMessage[Hit](w, "hit")
	x.note = world.RegisterMessage[Note](w, "note")
	x.unit = world.NewBundle[Unit](w)
	x.plain = world.NewBundle[Plain](w).PlaceBy(func(p Plain) int { return int(p.Small) % w.Shards() })
	x.order = world.RegisterFunc(w, "order", x.obey)
	x.ask = world.RegisterQuestion(w, "ask", func(self *world.EntityContext, o Order) uint64 {
		x.obey(self, o)
		return x.body.Read(self).Sum
	})
	x.kin = hierarchy.New(w, "kin", hierarchy.Options{})
	x.deal = world.RegisterTransaction(w, "deal", x.trade)
	x.scheduler = scheduler.New(w, s)
	x.scheduler.MustAdd("live", x.live)
	x.scheduler.MustAdd("read", x.read)
	x.hasher = state.NewHasher(w, codecs())
	x.hasher.Add("systems", x.scheduler.AppendState)
	return x
}

// obey is a function that writes, and sends what the next refresh applies.
func (x *sea) obey(self *world.EntityContext, o Order) {
	b := x.body.Write(self)
	b.Sum += uint64(o.N) + uint64(self.Status(o.Who))<<40
	_ = x.hit.Send(self, o.Who, Hit{o.N})
	_ = x.extra.Add(self, self.Handle(), Extra{int32(o.N)})
	if o.N%7 == 0 {
		_ = x.note.SendShard(self, int(uint64(o.N)%uint64(x.Shards())), Note{"from a function"})
	}
	if o.N%11 == 0 {
		_, _ = x.plain.Create(self, Plain{Body{Target: o.Who}})
	}
}

// trade is a transaction that does a bit of everything, and fails now and then.
func (x *sea) trade(tx *world.Tx, o Order) (uint64, error) {
	b := x.body.Edit(tx, o.Who)
	if b == nil {
		return 0, world.ErrStale
	}
	b.Sum += uint64(o.N) + uint64(tx.Status(b.Target))<<40 + tx.Rand().Uint64()
	made, err := x.plain.Create(tx, Plain{Body{Target: o.Who, Small: uint8(o.N)}})
	err = errors.Join(err, x.extra.Add(tx, made, Extra{int32(o.N)}), x.label.Add(tx, made, Label{"by trade"}))
	switch o.N % 8 {
	case 0:
		err = errors.Join(err, tx.Destroy(o.Who))
	case 1:
		err = errors.Join(err, x.hit.Send(tx, made, Hit{o.N}), x.note.Broadcast(tx, Note{"traded"}))
	case 2:
		err = errors.Join(err, world.Move(tx, o.Who, int(o.N)%x.Shards()), world.AddFlags(tx, made, world.Flags(o.N)))
	case 3:
		_, again := world.Copy(tx, made)
		err = errors.Join(err, again)
	case 4:
		return 0, errors.New("no deal")
	case 5, 6:
		_, again := x.deal.Run(tx, Order{b.Target, o.N + 1})
		return 0, again
	}
	return b.Sum, err
}

// live ages units by chance: all that systems know shows in their sums.
func (x *sea) live(b *world.Build) func(*world.Context) {
	body, hits := world.Write[Body](b), world.Receive[Hit](b)
	all := b.Query(body)
	b.Creates(x.plain)
	return func(c *world.Context) {
		for _, e := range hits.All() {
			if p := body.Get(e.To); p != nil {
				p.Sum = p.Sum*31 + uint64(e.Body.Damage)
			}
		}
		for ch := range all.Chunks() {
			rows, hs := body.Slice(ch), ch.Handles()
			for i := range rows {
				p := &rows[i]
				p.Sum = p.Sum*3 + uint64(c.Status(p.Target))
				p.Loud = p.Sum%2 == 0
				if c.Rand().IntN(20) == 0 {
					_ = c.Destroy(hs[i])
				}
				if p.Sum%100 == 7 {
					_ = x.deal.Call(c, Order{hs[i], uint32(p.Sum >> 8)})
				}
			}
		}
	}
}

// read turns notes into entities.
func (x *sea) read(b *world.Build) func(*world.Context) {
	notes := world.Receive[Note](b)
	b.Creates(x.unit)
	return func(c *world.Context) {
		for i, e := range notes.All() {
			if i < 10 {
				_, _ = x.unit.Create(c, Unit{Body{Target: e.To}, Label{e.Body.Text}})
			}
		}
	}
}

// step makes a tick.
func (x *sea) step(t testing.TB) {
	t.Helper()
	require.NoError(t, x.scheduler.Step(t.Context()))
}

func (x *sea) port(t testing.TB) *world.Port {
	t.Helper()
	p, err := x.OpenPort()
	require.NoError(t, err)
	return p
}
