package state_test

import (
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/world"
)

// What holds more than numbers.
type (
	Link     struct{ Next *int }
	Title    struct{ Text string }
	Bag      struct{ Items []int32 }
	Purse    struct{ Coins map[string]int32 }
	Anything struct{ Value any }
	Signal   struct{ Done chan int }
	Reaction struct{ Do func() }
	Deep     struct {
		N     int
		Inner [2]struct{ Titles [3]Title }
	}
)

// TestRefused checks that each error names the component and its field.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		register func(w *world.World)
		want     string
	}{
		{func(w *world.World) { world.Register[Link](w, "link") }, `component "link": state_test.Link.Next is a pointer; register a state.Codec[state_test.Link]`},
		{func(w *world.World) { world.Register[Title](w, "title") }, `component "title": state_test.Title.Text is a string`},
		{func(w *world.World) { world.Register[Bag](w, "bag") }, `component "bag": state_test.Bag.Items is a slice`},
		{func(w *world.World) { world.Register[Purse](w, "purse") }, `component "purse": state_test.Purse.Coins is a map`},
		{func(w *world.World) { world.Register[Anything](w, "any") }, `component "any": state_test.Anything.Value is a interface`},
		{func(w *world.World) { world.Register[Signal](w, "signal") }, `component "signal": state_test.Signal.Done is a channel`},
		{func(w *world.World) { world.Register[Reaction](w, "do") }, `component "do": state_test.Reaction.Do is a function`},
		{func(w *world.World) { world.Register[Deep](w, "deep") }, `component "deep": state_test.Deep.Inner[0].Titles[0].Text is a string`},
		{func(w *world.World) { world.Register[*int](w, "bare") }, `component "bare": *int is a pointer`},
		{func(w *world.World) { world.RegisterMessage[Title](w, "say") }, `message "say": state_test.Title.Text is a string`},
		{func(w *world.World) { world.RegisterResource(w, "map", Purse{}) }, `resource "map": state_test.Purse.Coins is a map`},
	} {
		t.Run(c.want, func(t *testing.T) {
			w := world.MustNew(world.Options{})
			h := state.NewHasher(w, nil)
			_, err := h.StateHash()
			require.NoError(t, err, "not registered yet")
			c.register(w)
			_, err = h.StateHash()
			require.ErrorIs(t, err, state.ErrNoCodec)
			require.ErrorContains(t, err, c.want)
			_, err = h.Sections()
			require.ErrorIs(t, err, state.ErrNoCodec)
		})
	}
}

// TestRefusedAll checks that one error names all.
func TestRefusedAll(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Link](w, "link")
	world.RegisterMessage[Bag](w, "bag")
	_, err := state.StateHash(w, nil)
	require.ErrorContains(t, err, `"link"`)
	require.ErrorContains(t, err, `"bag"`)
}

// secret is an extension that shows nothing.
type secret struct{ drive.Extension }

// TestRefusedExtension checks that an extension whose state is not known is refused.
func TestRefusedExtension(t *testing.T) {
	w := world.MustNew(world.Options{})
	driver.Of(w).Extend(secret{})
	_, err := state.StateHash(w, nil)
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, "extension 0 of the world, a state_test.secret, has no AppendState")
}

// codecs are those of Bag, Purse and Title.
func codecs() *state.Codecs {
	all := new(state.Codecs)
	state.Register(all, state.Codec[Title]{Append: func(dst []byte, v *Title) []byte { return append(dst, v.Text...) }})
	state.Register(all, state.Codec[Bag]{Append: func(dst []byte, v *Bag) []byte {
		for _, x := range v.Items {
			dst = append(dst, byte(x))
		}
		return dst
	}})
	state.Register(all, state.Codec[Purse]{Append: func(dst []byte, v *Purse) []byte {
		for _, k := range slices.Sorted(maps.Keys(v.Coins)) {
			dst = append(append(dst, k...), byte(len(k)), byte(v.Coins[k]))
		}
		return dst
	}})
	return all
}

// TestCodecs checks that what codecs write counts, value by value: in components,
// messages and resources.
func TestCodecs(t *testing.T) {
	type holder struct {
		Bag
		Purse
	}
	hash := func(items [2][]int32, coins map[string]int32, say []string, title string) state.Hash {
		w := world.MustNew(world.Options{Shards: 1})
		world.Register[Bag](w, "bag")
		world.Register[Purse](w, "purse")
		says := world.RegisterMessage[Title](w, "say")
		world.RegisterResource(w, "motto", Title{title})
		holders := world.NewBundle[holder](w)
		for _, x := range items {
			h, err := holders.Create(w, holder{Bag{x}, Purse{coins}})
			require.NoError(t, err)
			for _, text := range say {
				require.NoError(t, says.Send(w, h, Title{text}))
			}
		}
		sum, err := state.StateHash(w, codecs())
		require.NoError(t, err)
		return sum
	}
	items, coins, say := [2][]int32{{1, 2}, {3}}, map[string]int32{"a": 1, "b": 2, "c": 3}, []string{"hi", "ho"}
	want := hash(items, coins, say, "x")
	for range 20 { // the order of a map is another each time
		require.Equal(t, want, hash(items, maps.Clone(coins), slices.Clone(say), strings.Clone("x")))
	}
	for name, got := range map[string]state.Hash{
		"element":                hash([2][]int32{{1, 2}, {4}}, coins, say, "x"),
		"element of another row": hash([2][]int32{{1}, {2, 3}}, coins, say, "x"),
		"value of a map":         hash(items, map[string]int32{"a": 1, "b": 2, "c": 4}, say, "x"),
		"key of a map":           hash(items, map[string]int32{"a": 1, "b": 2, "d": 3}, say, "x"),
		"message":                hash(items, coins, []string{"hi", "he"}, "x"),
		"end of a message":       hash(items, coins, []string{"hih", "o"}, "x"),
		"resource":               hash(items, coins, say, "y"),
	} {
		require.NotEqual(t, want, got, name)
	}
}

// TestCodecFirst checks that a codec of a type of numbers takes the place of what
// is done by itself.
func TestCodecFirst(t *testing.T) {
	f := newFixture(t, options()).populate(unitsEach)
	setPoints(122)(f)
	blind := new(state.Codecs)
	state.Register(blind, state.Codec[Points]{Append: func(dst []byte, _ *Points) []byte { return dst }})
	a, err := state.StateHash(f.World, blind)
	require.NoError(t, err)
	require.NotEqual(t, f.hash(), a)
	setPoints(123)(f)
	b, err := state.StateHash(f.World, blind)
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestRegisterPanics(t *testing.T) {
	require.PanicsWithValue(t, "state: the codec of state_test.Bag has no Append", func() { state.Register(new(state.Codecs), state.Codec[Bag]{}) })
	require.PanicsWithValue(t, "state: state_test.Bag has a codec already; register one for each type", func() {
		state.Register(codecs(), state.Codec[Bag]{Append: func(dst []byte, _ *Bag) []byte { return dst }})
	})
	require.PanicsWithValue(t, "state: NewHasher of a nil World; make one with world.New", func() { state.NewHasher(nil, nil) })
}

// parcel is what a bundle, a function and a question get, and ledger a component that holds a
// type of another package whose field's type only that package can name.
type (
	parcel struct{ Bag }
	ledger struct{ Sum big.Int }
)

// TestFormRefused names the field and a type that the user can name, and no type that is
// wrapped around the user's.
func TestFormRefused(t *testing.T) {
	const bag = "state_test.Bag.Items is a slice; register a state.Codec[[]int32], or one of a type that has it: state.Codec[state_test.Bag]"
	w := world.MustNew(world.Options{})
	world.Register[Bag](w, "bag")
	world.Register[ledger](w, "ledger")
	parcels := world.NewBundle[parcel](w)
	world.RegisterQuestion(w, "weigh", func(*world.EntityContext, Bag) int { return 0 })
	kinds := driver.Of(w).Survey().Kinds()
	said := map[string]string{}
	for i := range kinds.Len() {
		d, typ := kinds.Describe(i)
		if typ == nil || d.Asks {
			continue
		}
		if _, err := drive.FormOf(new(state.Codecs), typ, true); err != nil {
			require.ErrorIs(t, err, state.ErrNoCodec)
			require.NotContains(t, err.Error(), "world.")
			said[d.Name] = strings.TrimPrefix(err.Error(), "state: no codec: ")
		}
	}
	require.Equal(t, bag, said[`set of component "bag"`])
	require.Equal(t, bag, said[`question "weigh"`])
	whole := strings.Replace(bag, "state_test.Bag.Items", "state_test.parcel.Bag.Items", 1)
	require.Equal(t, whole, said[`exchange of bundle "state_test.parcel"`])
	require.Equal(t, whole, said[`create of bundle "state_test.parcel"`])
	require.Equal(t, "state_test.ledger.Sum.abs is a slice; register a state.Codec[big.Int]", said[`set of component "ledger"`])

	h, err := parcels.Create(w, parcel{})
	require.NoError(t, err)
	require.True(t, w.Alive(h))
}
