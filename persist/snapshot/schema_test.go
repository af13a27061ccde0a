package snapshot_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
)

// valuesOf are values of a component, as a snapshot has them.
type valuesOf struct {
	reflect.Type
	image []byte
	n     int
}

// packed packs values as Save does. No world is made: the compiler takes most of a second for each
// type of component that a world has.
func packed[T any](t testing.TB, values ...T) valuesOf {
	t.Helper()
	f, err := (*form.Codecs)(codecs()).Form(reflect.TypeFor[T](), true)
	require.NoError(t, err)
	return valuesOf{reflect.TypeFor[T](), f.AppendAll(nil, mem.CellsOf(values)), len(values)}
}

// loadAs reads what packed has packed as Load does for a world with another type.
func loadAs[T any](t testing.TB, from valuesOf, changes ...snapshot.Change) (values []T, err error) {
	t.Helper()
	plan, form, err := snapshot.Conversion(from.Type, reflect.TypeFor[T](), codecs(), changes...)
	if err != nil {
		return nil, err
	}
	if refused := plan.Blocking(); len(refused) > 0 {
		return nil, fmt.Errorf("%w: %d differences: %v", snapshot.ErrOtherWorld, len(refused), refused)
	}
	values = make([]T, from.n)
	rest, err := form.ReadAll(from.image, mem.CellsOf(values))
	require.Empty(t, rest)
	return values, err
}

// mustBecome loads a value as one of another type.
func mustBecome[Old, New any](t *testing.T, old Old, want New, changes ...snapshot.Change) {
	t.Helper()
	var zero Old
	got, err := loadAs[New](t, packed(t, old, zero, old, old, old, old, old), changes...)
	require.NoError(t, err)
	require.Len(t, got, 7)
	for _, i := range []int{0, 2, 6} {
		require.Equal(t, want, got[i])
	}
}

// mustRefuseAs checks that values are not loaded as those of another type.
func mustRefuseAs[New, Old any](t *testing.T, old Old, want string, changes ...snapshot.Change) {
	t.Helper()
	_, err := loadAs[New](t, packed(t, old), changes...)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, want)
}

type (
	spot     struct{ X, Y int16 }
	wideSpot struct {
		Y float64
		X int32
	}
	tall struct { // with padding
		A bool
		B int32
		C [2]bool
		D spot
		E [3]spot
	}
	tallNow struct {
		New int8
		C   [4]bool
		E   [4]wideSpot
		B   int64
		D   wideSpot
		A   bool
	}
	thing struct {
		Name  string
		Count int8
		Old   float32
	}
	thingNow struct {
		Count int64
		Label string
		Fresh []string
	}
	crate struct {
		Title  string
		Things []thing
		By     map[string]thing
		First  *thing
		Bytes  [4]byte
		Code   Code
		N      int32
	}
	crateNow struct {
		N      int64
		Code   Code
		Bytes  [6]byte
		First  *thingNow
		By     map[string]thingNow
		Things []thingNow
		Caption,
		More string
	}
)

// TestFields loads values whose types have changed.
func TestFields(t *testing.T) {
	type (
		health struct{ Points, Most int32 }
		points struct{ Points int64 }
		named  struct {
			Name   string
			Health health
		}
	)
	mustBecome(t, health{3, 4}, struct{ Most, Points int32 }{4, 3})
	mustBecome(t, health{3, 4}, struct {
		Points, Most int32
		Regains      float64
	}{3, 4, 0})
	mustBecome(t, health{-3, 4}, points{-3}, snapshot.Dropped("it", "Most"))
	mustRefuseAs[points](t, health{3, 4}, `component "it", field Most (int32): is not in this world: say RenamedField("it", "Most", …), or give a Migrated; Dropped("it", "Most") loses nothing`)
	mustBecome(t, health{3, 4}, struct{ Points, Full int32 }{3, 4}, snapshot.RenamedField("it", "Most", "Full"))
	mustBecome(t, health{3, 4}, health{3, 4}, snapshot.RenamedField("it", "Most", "Full"), snapshot.Dropped("it", "Most"))
	mustBecome(t, health{70000, 4}, struct{ Points, Most int16 }{}, snapshot.Dropped("it", "Points", "Most"))
	mustRefuseAs[struct {
		Points int16
		Most   string
	}](t, health{1, 1}, "2 differences:")
	mustRefuseAs[struct {
		Points int32
		Most   string
	}](t, health{1, 1}, `field Most (int32 → string): does not become that by itself: give a Migrated; Dropped("it", "Most") loses nothing`)
	mustBecome(t, health{3, 4}, struct {
		Points int32
		Most   string
	}{3, ""}, snapshot.Dropped("it", "Most"))

	mustBecome(t, struct{}{}, health{})
	mustBecome(t, health{3, 4}, struct{}{}, snapshot.Dropped("it", "Points", "Most"))
	mustRefuseAs[struct{}](t, health{}, "2 differences")
	mustBecome(t, int32(-7), int64(-7))
	mustRefuseAs[uint8](t, int32(-7), "does not hold each of its values")
	mustBecome(t, complex64(complex(1, -2)), complex(1, -2))
	mustBecome(t, [2]complex64{1, 2i}, [3]complex128{1, 2i})
	mustRefuseAs[complex64](t, complex(1, 2), `does not hold each of its values: give a Migrated; Dropped("it", "") loses nothing`)
	mustRefuseAs[float64](t, complex(1, 2), `does not become that by itself: give a Migrated; Dropped("it", "") loses nothing`)
	mustBecome(t, [2]int8{1, -2}, [3]float32{1, -2, 0})
	mustBecome(t, [2][2]int8{{1, 2}, {3, 4}}, [3][3]int16{{1, 2, 0}, {3, 4, 0}})
	mustBecome(t, [3]int8{1, 2, 3}, [2]int8{}, snapshot.Dropped("it", ""))
	mustRefuseAs[[2]int8](t, [3]int8{}, "does not hold each of its values")
	mustRefuseAs[uint8](t, true, "does not become that")

	old := tall{true, -5, [2]bool{true, true}, spot{1, -2}, [3]spot{{3, 4}, {5, 6}, {-7, 8}}}
	now := tallNow{0, [4]bool{true, true}, [4]wideSpot{{4, 3}, {6, 5}, {8, -7}}, -5, wideSpot{-2, 1}, true}
	mustBecome(t, old, now)
	mustBecome(t, old, struct {
		Far struct{ H, Y int16 }
		E   [3]struct{ H int32 }
	}{struct{ H, Y int16 }{1, -2}, [3]struct{ H int32 }{{3}, {5}, {-7}}},
		snapshot.RenamedField("it", "D", "Far"), snapshot.RenamedField("it", "Far.X", "Far.H"), snapshot.RenamedField("it", "E.X", "E.H"),
		snapshot.Dropped("it", "A", "B", "C", "E.Y"))

	mustBecome(t, named{"a", health{1, 2}}, struct {
		Health struct{ Most, Points int64 }
		Name   string
		Titles map[string]int
	}{struct{ Most, Points int64 }{2, 1}, "a", nil})
	mustBecome(t, named{"a", health{1, 2}}, points{1}, snapshot.RenamedField("it", "Health.Points", "Points"), snapshot.Dropped("it", "Name", "Health.Most"))
	mustBecome(t, points{1}, struct {
		Name   string
		Health points
	}{"", points{1}}, snapshot.RenamedField("it", "Points", "Health.Points"))
}

// TestFieldsOfCBOR loads values in which something within slices, maps and pointers has changed.
func TestFieldsOfCBOR(t *testing.T) {
	n := int64(12)
	old := crate{"t", []thing{{"a", -1, 2}, {"b", 127, 3}}, map[string]thing{"k": {"c", 1, 1}}, &thing{"d", 2, 2}, [4]byte{1, 2, 3, 4}, Code{&n}, -9}
	now := crateNow{
		-9, Code{&n}, [6]byte{1, 2, 3, 4}, &thingNow{2, "d", nil}, map[string]thingNow{"k": {1, "c", nil}},
		[]thingNow{{-1, "a", nil}, {127, "b", nil}}, "t", "",
	}
	changes := []snapshot.Change{
		snapshot.RenamedField("it", "Title", "Caption"), snapshot.RenamedField("it", "Things.Name", "Things.Label"), snapshot.RenamedField("it", "By.Name", "By.Label"),
		snapshot.RenamedField("it", "First.Name", "First.Label"), snapshot.Dropped("it", "Things.Old", "By.Old", "First.Old"),
	}
	mustBecome(t, old, now, changes...)
	mustRefuseAs[crateNow](t, old, `field Things.Old (float32): is not in this world: say RenamedField("it", "Things.Old", …), or`, changes[:4]...)
	mustBecome(t, old.Things, []struct {
		Name  string
		Count int16
		Old   float64
		More  []int
	}{{"a", -1, 2, nil}, {"b", 127, 3, nil}})
	mustBecome(t, map[int8]int32{-1: 1 << 30}, map[int64]float64{-1: 1 << 30})
	mustBecome(t, []uint32{1, math.MaxUint32}, []float64{1, math.MaxUint32})
	mustBecome(t, []float32{1.5, math.MaxFloat32}, []float64{1.5, math.MaxFloat32})
	mustBecome(t, [][2]string{{"a", "b"}}, [][3]string{{"a", "b", ""}})
	mustRefuseAs[[]int8](t, []int16{1}, "does not hold each of its values")
	mustRefuseAs[[]float32](t, []float64{1}, "does not hold each of its values")
	mustRefuseAs[[][1]string](t, [][2]string{{"a", "b"}}, "does not hold each of its values")
	mustRefuseAs[[]string](t, map[string]int{}, "does not become that by itself")
	type numbered struct {
		A int8 `cbor:"1,keyasint"`
		B int8 `cbor:"b"`
	}
	mustBecome(t, []numbered{{1, 2}}, []struct {
		A int16 `cbor:"1,keyasint"`
		C int8  `cbor:"b"`
	}{{1, 2}})
	type onlyB struct {
		B int8 `cbor:"b"`
	}
	mustRefuseAs[[]onlyB](t, []numbered{{1, 2}}, `field 1,keyasint (int8): is not in this world: say RenamedField("it", "1,keyasint", …)`)
	mustBecome(t, []numbered{{1, 2}}, []onlyB{{2}}, snapshot.Dropped("it", "1,keyasint"))
	type negative struct {
		A int8 `cbor:"-300,keyasint"`
		B int8 `cbor:"9,keyasint"`
	}
	mustBecome(t, []numbered{{1, 2}}, []negative{{1, 2}}, snapshot.RenamedField("it", "1,keyasint", "-300,keyasint"), snapshot.RenamedField("it", "b", "9,keyasint"))
	mustBecome(t, []negative{{1, 2}}, []numbered{{1, 2}}, snapshot.RenamedField("it", "-300,keyasint", "1,keyasint"), snapshot.RenamedField("it", "9,keyasint", "b"))
	type outer[T any] struct {
		In []T `cbor:"7,keyasint"`
	}
	mustBecome(t, []outer[thing]{{[]thing{{"a", 1, 2}}}}, []outer[thingNow]{{[]thingNow{{1, "a", nil}}}},
		snapshot.RenamedField("it", "7,keyasint.Name", "7,keyasint.Label"), snapshot.Dropped("it", "7,keyasint.Old"))
	mustRefuseAs[[]int32](t, []byte{1}, "does not become that by itself")
	mustRefuseAs[[][2]uint16](t, [][2]byte{{1}}, "does not become that by itself")
	mustRefuseAs[[]Code](t, []byte{1}, "does not become that by itself")
	type listed struct {
		_    struct{} `cbor:",toarray"`
		A, B int8
	}
	mustRefuseAs[[]struct{ A, B int8 }](t, []listed{{A: 1}}, "does not become")
}

// TestDroppedInCBOR gives the name of a field that is dropped to another.
func TestDroppedInCBOR(t *testing.T) {
	type holds[T any] struct {
		Kept int8
		A    T
	}
	type in[T any] struct{ X []holds[T] }
	drop := snapshot.Dropped("it", "A")
	mustBecome(t, holds[string]{1, "x"}, holds[int32]{1, 0}, drop)
	mustBecome(t, []holds[string]{{1, "x"}}, []holds[int32]{{1, 0}}, drop)
	mustBecome(t, map[string]*holds[[]byte]{"k": {1, []byte{1}}}, map[string]*holds[[]int32]{"k": {1, nil}}, drop)
	mustBecome(t, []holds[map[string]int8]{{1, map[string]int8{"x": 1}}}, []holds[map[int32]int8]{{1, nil}}, drop)
	mustBecome(t, []holds[[3]string]{{1, [3]string{"a"}}}, []holds[[2]string]{{1, [2]string{}}}, drop)
	mustBecome(t, []holds[Code]{{1, Code{new(int64)}}}, []holds[time.Time]{{1, time.Time{}}}, drop)
	mustBecome(t, in[string]{[]holds[string]{{1, "x"}}}, in[[]int8]{[]holds[[]int8]{{1, nil}}}, snapshot.Dropped("it", "X.A"))
	mustBecome(t, in[string]{[]holds[string]{{1, "x"}}}, in[[]int8]{[]holds[[]int8]{{1, nil}}}, snapshot.Dropped("it", "X"))
	mustBecome(t, []string{"a"}, []int8(nil), snapshot.Dropped("it", ""))
	mustBecome(t, holds[[]string]{1, []string{"a"}}, holds[[]int8]{1, nil}, drop)
	mustBecome(t, holds[[]string]{1, []string{"a"}}, holds[[2]int8]{Kept: 1}, drop)
}

// TestRenumbered has constants with other numbers. Nothing in the type tells: what docs/guide.md
// says to do is another name for the field, and a function.
func TestRenumbered(t *testing.T) {
	type (
		weather uint8 // was calm, storm; is fog, calm, storm
		sky     struct{ Weather weather }
		skyNow  struct{ Sky weather }
	)
	mustBecome(t, sky{1}, sky{1}) // a storm that is calm now
	plan, _, err := snapshot.Conversion(reflect.TypeFor[sky](), reflect.TypeFor[sky](), codecs())
	require.NoError(t, err)
	require.Empty(t, plan.Differences)
	change := snapshot.Migrated(func(was sky) skyNow { return skyNow{was.Weather + 1} })
	got, err := loadAs[skyNow](t, packed(t, sky{0}, sky{1}), change)
	require.NoError(t, err)
	require.Equal(t, []skyNow{{1}, {2}}, got)
	mustBecome(t, skyNow{1}, skyNow{1}, change) // what the newer program has saved
}

// TestMigrated makes values by functions.
func TestMigrated(t *testing.T) {
	type (
		first  struct{ Name, Family string }
		second struct{ Names []string }
		now    struct{ Full string }
	)
	changes := []snapshot.Change{
		snapshot.Migrated(func(old first) now { return now{old.Name + " " + old.Family} }),
		snapshot.Migrated(func(old second) now { return now{strings.Join(old.Names, " ")} }),
	}
	mustBecome(t, first{"Ada", "L"}, now{"Ada L"}, changes...)
	mustBecome(t, second{[]string{"Ada", "L"}}, now{"Ada L"}, changes...)
	mustBecome(t, now{"Ada L"}, now{"Ada L"}, changes...)
	mustRefuseAs[now](t, spot{}, "is not in this world", changes...)
	_, err := loadAs[now](t, packed(t, struct{ Full, More string }{"a", "b"}), append(changes, snapshot.Dropped("it", "More"))...)
	require.NoError(t, err)
	mustBecome(t, struct{}{}, now{"was a tag"}, snapshot.Migrated(func(struct{}) now { return now{"was a tag"} }))
	require.Panics(t, func() { snapshot.Migrated[first, now](nil) })
	_, err = loadAs[now](t, packed(t, spot{}), snapshot.Migrated(func(func()) now { return now{} }))
	require.ErrorIs(t, err, state.ErrNoCodec)
}
