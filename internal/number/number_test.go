package number_test

import (
	"math"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/number"
)

// set sets a value that was 7, and returns what it is then.
func set[T int | int8 | int64 | uint | uint8 | uint64 | float32 | float64](text string) (T, error) {
	is := T(7)
	err := number.Set(reflect.ValueOf(&is).Elem(), text)
	return is, err
}

// stores requires that a text is read as a value.
func stores[T int | int8 | int64 | uint | uint8 | uint64 | float32 | float64](t *testing.T, text string, want T) {
	t.Helper()
	got, err := set[T](text)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// refuses requires that a text is not read, for a reason, and that the value stays.
func refuses[T int | int8 | int64 | uint | uint8 | uint64 | float32 | float64](t *testing.T, text string, why error) {
	t.Helper()
	got, err := set[T](text)
	require.ErrorIs(t, err, why)
	require.Equal(t, T(7), got)
}

// TestSet reads the least and the most of types, and what is beyond.
func TestSet(t *testing.T) {
	stores(t, "-128", int8(-128))
	stores(t, "-9223372036854775808", int64(math.MinInt64))
	stores(t, "255", uint8(255))
	stores(t, "18446744073709551615", uint64(math.MaxUint64))
	stores(t, "1e38", float32(1e38))
	stores(t, "-0.5", -0.5)
	stores(t, "+Inf", math.Inf(1))
	refuses[int8](t, "128", strconv.ErrRange)
	refuses[uint8](t, "256", strconv.ErrRange)
	refuses[float32](t, "1e39", strconv.ErrRange)
	refuses[float64](t, "1e999", strconv.ErrRange)
	refuses[uint](t, "-1", strconv.ErrSyntax)
	refuses[int](t, "1.5", strconv.ErrSyntax)
	refuses[int](t, "0x10", strconv.ErrSyntax)
	refuses[float64](t, "", strconv.ErrSyntax)
}
