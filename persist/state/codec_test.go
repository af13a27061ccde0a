package state_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// What holds more than numbers.
type (
	Title    struct{ Text string }
	Bag      struct{ Items []int32 }
	Purse    struct{ Coins map[string]int32 }
	Anything struct{ Value any }
	Signal   struct{ Done chan int }
	Reaction struct{ Do func() }
	Deep     struct {
		N     int
		Inner [2]struct{ Do []Reaction }
	}
	hidden struct{ secret int } // within a slice CBOR would lose it
	Untold struct {
		N int `json:"-"`
	}
	Twice struct {
		A int
		B int `cbor:"A"`
	}
	Chain     struct{ Next *Chain }
	shadowing struct { // whose Text hides that of Title
		*Title
		Text string
	}
	bothTimes struct { // has neither's methods
		Dawn
		Dusk
	}
	Dawn  struct{ time.Time }
	Dusk  struct{ time.Time }
	dated struct { // has Time's methods
		time.Time
		Text string
	}
	datedAt struct{ *time.Time }
	mixedUp struct{ time.Time } // would be written as CBOR, and read as bytes
)

func (mixedUp) MarshalCBOR() ([]byte, error) { return []byte{0}, nil }

var _ = hidden{}.secret

// TestRefused checks that each error names the component and its field.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		register func(w *world.World)
		want     string
	}{
		{func(w *world.World) { world.Register[Anything](w, "any") }, `component "any": state_test.Anything.Value is a interface; register a state.Codec[interface {}], or one of a type that has it: state.Codec[state_test.Anything]`},
		{func(w *world.World) { world.Register[Signal](w, "signal") }, `component "signal": state_test.Signal.Done is a channel`},
		{func(w *world.World) { world.Register[Reaction](w, "do") }, `component "do": state_test.Reaction.Do is a function`},
		{func(w *world.World) { world.Register[Deep](w, "deep") }, `component "deep": state_test.Deep.Inner[0].Do[0].Do is a function`},
		{func(w *world.World) { world.Register[*any](w, "bare") }, `component "bare": *interface {} is a interface`},
		{func(w *world.World) { world.Register[[]hidden](w, "hidden") }, `component "hidden": []state_test.hidden[0].secret is not exported`},
		{func(w *world.World) { world.Register[[]Untold](w, "untold") }, `component "untold": []state_test.Untold[0].N is left out by its tag`},
		{func(w *world.World) { world.Register[[]Twice](w, "twice") }, `component "twice": []state_test.Twice[0].B has the name of another field, "A"`},
		{func(w *world.World) { world.Register[*Chain](w, "chain") }, `component "chain": *state_test.Chain.Next is a state_test.Chain, which may hold itself`},
		{func(w *world.World) { world.Register[map[float64]int](w, "keys") }, `component "keys": map[float64]int has keys that are no strings or integers`},
		{func(w *world.World) { world.Register[[]**int](w, "two") }, `component "two": []**int[0] is a pointer to a ptr, which may be nil as well`},
		{func(w *world.World) { world.Register[[]shadowing](w, "it") }, `[0].Title is an embedded pointer: give it a name, as with the tag cbor:"Title"`},
		{func(w *world.World) { world.Register[[]bothTimes](w, "it") }, `[0].Dawn is embedded, and has methods to be written or to be read: give it a name`},
		{func(w *world.World) { world.Register[dated](w, "it") }, `state_test.dated is a state_test.dated, which may be written by the methods of what it embeds, Time; do not embed that`},
		{func(w *world.World) { world.Register[[]datedAt](w, "it") }, `[0] is a state_test.datedAt, which may be written by the methods of what it embeds, Time; do not embed that`},
		{func(w *world.World) { world.Register[[]mixedUp](w, "it") }, `[0] is a state_test.mixedUp, which has a method to be written or to be read, and not both`},
		{func(w *world.World) { world.Register[[]*mixedUp](w, "it") }, `[0] is a state_test.mixedUp, which has a method`},
		{func(w *world.World) {
			world.Register[[]struct {
				A int `cbor:"1,keyasint"`
				B int `cbor:"01,keyasint"`
			}](w, "it")
		}, `[0].B has the name of another field, "1,keyasint"`},
		{func(w *world.World) {
			world.Register[[]struct {
				A int `cbor:",keyasint"`
			}](w, "it")
		}, `[0].A has the tag keyasint, and "A" is no number`},
		{func(w *world.World) {
			world.Register[[]struct {
				A []int `json:",omitempty"`
			}](w, "it")
		}, `[0].A is left out by omitempty or omitzero, and what is left out may not be zero`},
		{func(w *world.World) {
			world.Register[[]struct {
				A *time.Time `cbor:",omitzero"`
			}](w, "it")
		}, `[0].A is left out by omitempty or omitzero`},
		{func(w *world.World) {
			world.Register[[]struct {
				A float32 `cbor:"a,omitempty"`
			}](w, "it")
		}, `[0].A is left out by omitempty or omitzero`},
		{func(w *world.World) { world.Register[[]struct{ A uintptr }](w, "it") }, `[0].A is a uintptr`},
		{func(w *world.World) { world.Register[[]complex64](w, "it") }, `[0] is a complex64`},
		{func(w *world.World) { world.Register[[]struct{ error }](w, "it") }, `[0].error is not exported`},
		{func(w *world.World) { world.Register[[]struct{ hidden }](w, "it") }, `[0].hidden is not exported`},
		{func(w *world.World) { world.RegisterMessage[Reaction](w, "say") }, `message "say": state_test.Reaction.Do is a function`},
		{func(w *world.World) { world.RegisterResource(w, "map", Anything{}) }, `resource "map": state_test.Anything.Value is a interface`},
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
	world.Register[Signal](w, "signal")
	world.RegisterMessage[Reaction](w, "do")
	_, err := state.StateHash(w, nil)
	require.ErrorContains(t, err, `"signal"`)
	require.ErrorContains(t, err, `"do"`)
}

// secret is an extension that shows nothing.
type secret struct{ extend.Extension }

func (secret) Name() string { return "secret" }

// TestRefusedExtension checks that an extension whose state is not known is refused.
func TestRefusedExtension(t *testing.T) {
	w := world.MustNew(world.Options{})
	engine.Of(w).Extend(secret{})
	_, err := state.StateHash(w, nil)
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, "extension \"secret\", a state_test.secret, has no AppendState")
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
	require.PanicsWithValue(t, "state: state_test.Bag has a codec or an enum already; register one for each type", func() {
		state.Register(codecs(), state.Codec[Bag]{Append: func(dst []byte, _ *Bag) []byte { return dst }})
	})
	require.PanicsWithValue(t, "state: NewHasher of a nil World; make one with world.New", func() { state.NewHasher(nil, nil) })
}

// parcel is what a bundle, a function and a question get, and ledger a component that holds a
// type of another package whose field's type only that package can name.
type (
	crew   struct{ Do []func() }
	parcel struct{ crew }
	ledger struct{ Sum time.Location }
)

// TestFormRefused names the field and a type that the user can name, and no type that is
// wrapped around the user's.
func TestFormRefused(t *testing.T) {
	const bag = "state_test.crew.Do[0] is a function; register a state.Codec[[]func()], or one of a type that has it: state.Codec[state_test.crew]"
	w := world.MustNew(world.Options{})
	world.Register[crew](w, "bag")
	world.Register[ledger](w, "ledger")
	parcels := world.NewBundle[parcel](w)
	world.RegisterQuestion(w, "weigh", func(*world.EntityContext, crew) int { return 0 })
	kinds := engine.Of(w).Survey().Kinds()
	said := map[string]string{}
	for i := range kinds.Len() {
		d, typ := kinds.Describe(i)
		if typ == nil || d.Asks {
			continue
		}
		if _, err := (*form.Codecs)(new(state.Codecs)).Form(typ, true); err != nil {
			require.ErrorIs(t, err, state.ErrNoCodec)
			require.NotContains(t, err.Error(), "world.")
			said[d.Name] = strings.TrimPrefix(err.Error(), "state: no codec: ")
		}
	}
	require.Equal(t, bag, said[`set of component "bag"`])
	require.Equal(t, bag, said[`question "weigh"`])
	whole := strings.Replace(bag, "state_test.crew.Do", "state_test.parcel.crew.Do", 1)
	require.Equal(t, whole, said[`exchange of bundle "state_test.parcel"`])
	require.Equal(t, whole, said[`create of bundle "state_test.parcel"`])
	require.Equal(t, "state_test.ledger.Sum.zone[0].name is not exported; register a state.Codec[time.Location]", said[`set of component "ledger"`])

	h, err := parcels.Create(w, parcel{})
	require.NoError(t, err)
	require.True(t, w.Alive(h))
}
