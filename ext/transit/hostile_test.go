package transit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// known returns what a world answers to another that it does not know yet.
func known(t testing.TB, x *town, from transit.World) transit.Answers {
	t.Helper()
	a, err := ask(t, x, x.roads.Arriving(), transit.Packet{From: from, To: x.roads.World()})
	require.NoError(t, err)
	return a
}

// TestHostileItems brings items that no world has sent. Each is refused with a reason, and the next one
// arrives.
func TestHostileItems(t *testing.T) {
	x := newTown(2, 1, transit.Options{})
	bert := x.born(t, 0)
	shape, to := x.coins.Shape(), uint64(bert)
	good := transit.ItemOf("coins", shape, 1, to, string([]byte{5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}))
	for _, test := range []struct {
		item string
		want transit.Reason
	}{
		{"", transit.Unknown}, {"\x03", transit.Unknown}, {"\xff" + good[1:], transit.Unknown},
		{"\x01", transit.Malformed}, {good[:3], transit.Malformed}, {good[:10], transit.Malformed}, {good[:15], transit.Malformed}, {good[:17], transit.Malformed},
		{transit.ItemOf("coins", shape, 1, to, ""), transit.Malformed},
		{good[:len(good)-1], transit.Malformed}, {good + "x", transit.Malformed}, {good + strings.Repeat("x", transit.ItemBytesMax), transit.Malformed},
		{transit.ItemOf("stones", shape, 1, to, good), transit.Unknown},
		{transit.ItemOf("coins returned", shape, 1, to, good), transit.Unknown},
		{transit.ItemOf("coins", shape+1, 1, to, good), transit.Differs},
		{transit.ItemOf("coins", shape, 1, 0, good[len(good)-16:]), transit.Gone},
		{transit.ItemOf("coins", shape, 1, math.MaxUint64, good[len(good)-16:]), transit.Gone},
	} {
		before := known(t, x, 1)
		p := transit.Packet{From: 1, To: 2, Acked: before.Last, First: before.Last + 1, Before: before.Chain}
		p.Items = transit.AppendItem(transit.AppendItem("", test.item), good)
		a, err := ask(t, x, x.roads.Arriving(), p)
		require.NoError(t, err)
		require.Equal(t, before.Last+2, a.Last)
		require.Equal(t, string([]byte{1, byte(test.want)}), a.Refused, "%q", test.item)
	}
	x.step(t)
	require.EqualValues(t, 5*17, x.gold(bert))
}

// TestHostilePackets brings packets and answers that no world has sent, or another one. Nothing
// changes.
func TestHostilePackets(t *testing.T) {
	p := newPair(t, transit.Options{})
	anna, bert := p.a.born(t, 100), p.b.born(t, 0)
	for range 3 {
		_, err := ask(t, p.a, p.a.pays, order{anna, p.b.roads.Ref(bert), 1, 1})
		require.NoError(t, err)
	}
	a := known(t, p.b, 1)
	good, err := ask(t, p.a, p.a.roads.Turning(), a)
	require.NoError(t, err)
	still := func(x *town, err error, what any) {
		t.Helper()
		require.Error(t, err, "%+v", what)
		require.Empty(t, p.b.roads.Peers())
		require.Equal(t, transit.Channel{Peer: 2, Next: 4, Items: 3, Bytes: p.a.roads.Channel(2).Bytes}, p.a.roads.Channel(2))
		require.Len(t, p.a.roads.Peers(), 1)
		require.NoError(t, x.World.Err())
	}
	for _, change := range []func(p *transit.Packet){
		func(p *transit.Packet) { p.To = 3 }, func(p *transit.Packet) { p.From = 2 }, func(p *transit.Packet) { p.From = 0 },
		func(p *transit.Packet) { p.Acked = 1 }, func(p *transit.Packet) { p.Acked = math.MaxUint64 },
		func(p *transit.Packet) { p.First = 0 }, func(p *transit.Packet) { p.First = 2 }, func(p *transit.Packet) { p.First = math.MaxUint64 },
		func(p *transit.Packet) { p.Before++ }, func(p *transit.Packet) { p.Era, p.Acked = 7, 1 }, func(p *transit.Packet) { p.Era = 7 },
		func(p *transit.Packet) { p.Items = p.Items[:len(p.Items)-1] }, func(p *transit.Packet) { p.Items += "\xff" },
		func(p *transit.Packet) { p.Items = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + p.Items },
	} {
		bad := good
		change(&bad)
		_, err := ask(t, p.b, p.b.roads.Arriving(), bad)
		still(p.b, err, bad)
	}
	for _, change := range []func(a *transit.Answers){
		func(a *transit.Answers) { a.From = 2 }, func(a *transit.Answers) { a.To = 1 }, func(a *transit.Answers) { a.To = 0 },
		func(a *transit.Answers) { a.Last = 4 }, func(a *transit.Answers) { a.Last = math.MaxUint64 }, func(a *transit.Answers) { a.Last = 2 },
		func(a *transit.Answers) { a.Acked = 1 }, func(a *transit.Answers) { a.Chain++ }, func(a *transit.Answers) { a.Era = 1 },
	} {
		bad := a
		change(&bad)
		_, err := ask(t, p.a, p.a.roads.Turning(), bad)
		still(p.a, err, bad)
	}
	done, err := ask(t, p.b, p.b.roads.Arriving(), good)
	require.NoError(t, err)
	for _, refused := range []string{"\x00\x01", "\x01\x00", "\x04\x01", "\x01", "\x03\x01\x01\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"} {
		bad := done
		bad.Refused = refused
		_, err := ask(t, p.a, p.a.roads.Turning(), bad)
		require.ErrorIs(t, err, transit.ErrCarrier)
	}
	p.b.step(t)
	require.EqualValues(t, 3, p.b.gold(bert))
	_, err = ask(t, p.a, p.a.roads.Turning(), done)
	require.NoError(t, err)
	require.Equal(t, transit.Channel{Peer: 2, Next: 4, Acked: 3}, p.a.roads.Channel(2))
}

// TestRefusedMost brings refused items from a world that never says that it knows.
func TestRefusedMost(t *testing.T) {
	x := newTown(2, 1, transit.Options{})
	var items string
	for range 3000 {
		items = transit.AppendItem(items, "?")
	}
	for i := range 3 {
		a := known(t, x, 1)
		a, err := ask(t, x, x.roads.Arriving(), transit.Packet{From: 1, To: 2, First: a.Last + 1, Before: a.Chain, Items: items})
		require.NoError(t, err)
		require.EqualValues(t, min(3000*(i+1), 4096), a.Last)
	}
	require.Equal(t, 4096, x.roads.Channel(1).Refuse)
	a := known(t, x, 1)
	a, err := ask(t, x, x.roads.Arriving(), transit.Packet{From: 1, To: 2, Acked: 4000, First: a.Last + 1, Before: a.Chain, Items: items})
	require.NoError(t, err)
	require.EqualValues(t, 7096, a.Last)
}

// FuzzArrive brings bytes as items to a world, and as answers to it.
func FuzzArrive(f *testing.F) {
	x := newTown(1, 1, transit.Options{})
	anna := x.born(f, 1000)
	f.Add("", uint64(1), uint64(0), uint64(0))
	f.Add(transit.AppendItem("", transit.ItemOf("coins", x.coins.Shape(), 1, uint64(anna), "0123456789abcdef")), uint64(1), uint64(0), uint64(0))
	f.Add("\x01\x01\x01\x02", uint64(3), uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, items string, first, acked, era uint64) {
		x := newTown(1, 1, transit.Options{})
		anna := x.born(t, 1000)
		for range 3 {
			require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{1, 1}))
		}
		a := known(t, x, 2)
		before := x.roads.Channel(2)
		_, err := ask(t, x, x.roads.Arriving(), transit.Packet{From: 2, To: 1, Era: era, Acked: acked, First: first, Before: a.Chain, Items: items})
		if err != nil {
			require.Equal(t, before, x.roads.Channel(2))
		}
		before = x.roads.Channel(2)
		_, err = ask(t, x, x.roads.Turning(), transit.Answers{From: 1, To: 2, Era: era, Acked: acked, Last: first, Chain: a.Chain, Refused: items})
		if err != nil {
			require.Equal(t, before, x.roads.Channel(2))
		}
		x.step(t)
		require.NoError(t, x.World.Err())
		var image bytes.Buffer
		require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{Scheduler: x.s}))
		y := newTown(1, 1, transit.Options{})
		require.NoError(t, snapshot.Load(&image, y.World, snapshot.Options{Scheduler: y.s}))
	})
}

// FuzzLoad loads bytes as the state of roads. What is loaded is saved as the same bytes.
func FuzzLoad(f *testing.F) {
	x := newTown(1, 1, transit.Options{})
	anna := x.born(f, 1000)
	f.Add(x.roads.Save())
	require.NoError(f, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{1, 1}))
	f.Add(x.roads.Save())
	a := known(f, x, 3)
	_, err := ask(f, x, x.roads.Arriving(), transit.Packet{From: 3, To: 1, First: 1, Before: a.Chain, Items: "\x01?\x01?"})
	require.NoError(f, err)
	f.Add(x.roads.Save())
	f.Fuzz(func(t *testing.T, src []byte) {
		x := newTown(1, 1, transit.Options{})
		if x.roads.Load(src) != nil {
			x.roads.Save()
			return
		}
		again := x.roads.Save()
		require.NoError(t, x.roads.Load(again))
		require.Equal(t, again, x.roads.Save())
		x.step(t)
		for _, peer := range x.roads.Peers() {
			p := transit.Packet{From: peer, To: 1}
			_, _ = ask(t, x, x.roads.Arriving(), p)
			_, err := x.roads.Resolve(context.Background(), x.World, peer, transit.Return)
			require.NoError(t, err)
		}
	})
}

// TestLoadRefuses loads worlds that this program cannot have.
func TestLoadRefuses(t *testing.T) {
	save := func(x *town) *bytes.Buffer {
		var image bytes.Buffer
		require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{Scheduler: x.s}))
		return &image
	}
	x := newTown(1, 1, transit.Options{})
	anna := x.born(t, 100)
	y := newTown(2, 1, transit.Options{})
	require.ErrorContains(t, snapshot.Load(save(x), y.World, snapshot.Options{Scheduler: y.s}), "world 1")
	require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{1, 1}))
	less := newTown(1, 1, transit.Options{Max: 1, MaxBytes: 1})
	require.NoError(t, snapshot.Load(save(x), less.World, snapshot.Options{Scheduler: less.s}), "limits are for what is new")
	require.ErrorIs(t, less.coins.Tell(less.World, anna, transit.RefOf(2, anna), Coins{1, 1}), transit.ErrFull)
	require.Equal(t, 1, less.roads.Channel(2).Items)
	without, differs := world.MustNew(world.Options{Shards: 1}), world.MustNew(world.Options{Shards: 1})
	for _, test := range []struct {
		roads *transit.Roads
		want  string
	}{
		{transit.New(without, "roads", transit.Options{World: 1}), "that this program cannot give back: Unknown"},
		{func() *transit.Roads {
			r := transit.New(differs, "roads", transit.Options{World: 1})
			transit.RegisterMail(r, world.RegisterMessage[struct{ Gold int32 }](differs, "coins"))
			return r
		}(), "that this program cannot give back: Differs"},
	} {
		require.ErrorContains(t, test.roads.Refuses(x.roads.Save()), test.want)
		require.Empty(t, test.roads.Peers())
		require.ErrorContains(t, test.roads.Load(x.roads.Save()), test.want)
	}
	require.NoError(t, less.roads.Refuses(x.roads.Save()))
	require.ErrorContains(t, x.roads.Load(append(bytes.Clone(x.roads.Save()), 1)), "more data")
}

// TestRef has all forms of a Ref.
func TestRef(t *testing.T) {
	h := handle.New(3, 1047, 5)
	r := transit.RefOf(7, h)
	require.Equal(t, "7/3:1047@5", r.String())
	require.Equal(t, transit.World(7), r.World())
	require.Equal(t, h, r.Handle())
	require.Equal(t, "none", transit.Ref{}.String())
	for _, r := range []transit.Ref{r, {}, transit.RefOf(math.MaxUint32, handle.None)} {
		got, err := transit.ParseRef(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
		b, err := r.MarshalBinary()
		require.NoError(t, err)
		var back transit.Ref
		require.NoError(t, back.UnmarshalBinary(b))
		require.Equal(t, r, back)
		text, err := json.Marshal(map[transit.Ref]transit.Ref{r: r})
		require.NoError(t, err)
		var all map[transit.Ref]transit.Ref
		require.NoError(t, json.Unmarshal(text, &all))
		require.Equal(t, r, all[r])
	}
	for _, s := range []string{"", "7", "7/", "/3:1@1", "0/3:1@1", "07/3:1@1", "+7/3:1@1", "4294967296/3:1@1", "7/3:1", "7/3:1@1 ", " none"} {
		_, err := transit.ParseRef(s)
		require.ErrorIs(t, err, transit.ErrRef, s)
		require.Error(t, r.UnmarshalText([]byte(s)))
	}
	for _, b := range []string{"", "12345678901", "1234567890123", "\x00\x00\x00\x0012345678", "\x00\x00\x00\x011234\x00\x00\x00\x00"} {
		require.ErrorIs(t, r.UnmarshalBinary([]byte(b)), transit.ErrRef, "%q", b)
	}
	require.Equal(t, "7/3:1047@5", r.String())
	_, err := transit.RefOf(7, handle.Handle(1<<50)).MarshalText()
	require.ErrorIs(t, err, handle.ErrRange)
	require.Equal(t, "Gone Resolved Reason(0) Reason(99)", strings.Join([]string{transit.Gone.String(), transit.Resolved.String(), transit.Reason(0).String(), transit.Reason(99).String()}, " "))
}

// TestResolveMany resolves a channel with more items than one transaction takes, by a port.
func TestResolveMany(t *testing.T) {
	const items = 3000
	x := newTown(1, 1, transit.Options{})
	anna := x.born(t, items)
	x.purse.Set(x.World, anna, Purse{})
	for range items {
		require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{1, 1}))
	}
	port, err := x.OpenPort()
	require.NoError(t, err)
	done := make(chan int, 1)
	go func() {
		n, _ := x.roads.Resolve(context.Background(), port, 2, transit.Return)
		done <- n
	}()
	for n := 0; n == 0; {
		select {
		case n = <-done:
			require.Equal(t, items, n)
		default:
			x.step(t)
		}
	}
	x.step(t)
	require.EqualValues(t, items, x.gold(anna))
	require.Equal(t, transit.Channel{Peer: 2, Next: 1}, x.roads.Channel(2))
}

// TestReturnMany refuses more items than one transaction gives back.
func TestReturnMany(t *testing.T) {
	const items = 3000
	p := newPair(t, transit.Options{})
	anna := p.a.born(t, items)
	for range items {
		require.NoError(t, p.a.coins.Tell(p.a.World, anna, transit.RefOf(2, handle.New(0, 5, 5)), Coins{1, 1}))
	}
	for range 4 {
		round(t, p.a, p.b)
	}
	p.a.step(t)
	require.EqualValues(t, 2*items, p.a.gold(anna))
	require.Equal(t, transit.Channel{Peer: 2, Next: items + 1, Acked: items}, p.a.roads.Channel(2))
}

// Broken is a message whose type fails to write some values, and to read others.
type Broken struct{ How string }

func (b Broken) MarshalBinary() ([]byte, error) {
	switch b.How {
	case "panics":
		panic("cannot write")
	case "fails":
		return nil, context.Canceled
	}
	return []byte(b.How), nil
}

func (b *Broken) UnmarshalBinary(src []byte) error {
	if b.How = string(src); b.How == "unread" {
		panic("cannot read")
	}
	return nil
}

// TestBroken sends what cannot be written, or not be read again. It comes back at once.
func TestBroken(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1})
	roads := transit.New(w, "roads", transit.Options{World: 1})
	mail := transit.RegisterMail(roads, world.RegisterMessage[Broken](w, "broken"))
	port, err := w.OpenPort()
	require.NoError(t, err)
	for _, how := range []string{"panics", "fails", "unread", strings.Repeat("x", transit.ItemBytesMax+1)} {
		require.Error(t, mail.Tell(w, handle.None, transit.RefOf(2, handle.None), Broken{how}))
		require.NoError(t, mail.Tell(port, handle.None, transit.RefOf(2, handle.None), Broken{how}))
	}
	var why []transit.Reason
	w.Refresh()
	for m := range mail.Returned.Waiting() {
		why = append(why, m.Body.Why)
	}
	require.Equal(t, []transit.Reason{transit.Malformed, transit.Malformed, transit.Malformed, transit.TooLarge}, why)
	require.Empty(t, roads.Peers())
	require.NoError(t, mail.Tell(w, handle.None, transit.RefOf(2, handle.None), Broken{"well"}))
	require.Equal(t, 1, roads.Channel(2).Items)
	for range 2 {
		require.Panics(t, func() { transit.RegisterMail(roads, world.RegisterMessage[chan int](w, "channel")) })
	}
}
