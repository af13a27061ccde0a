package state_test

import (
	"net/netip"
	"testing"
	"time"
	"unique"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/state"
)

// TestUnique refuses to read a unique.Handle without a codec: it would point to a value of its own,
// and be equal to no other handle.
func TestUnique(t *testing.T) {
	type clan struct {
		Name unique.Handle[string]
		N    int
	}
	of := mem.TypeOf[clan]().Of
	_, err := (*form.Codecs)(new(state.Codecs)).Form(of, true)
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, "state_test.clan.Name is a unique.Handle[string], which only unique.Make can make; register a state.Codec[unique.Handle[string]]")
	_, err = (*form.Codecs)(new(state.Codecs)).Form(of, false)
	require.NoError(t, err, "it can be hashed")

	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[unique.Handle[string]]{
		Append: func(dst []byte, v *unique.Handle[string]) []byte { return append(dst, v.Value()...) },
		Read: func(src []byte, v *unique.Handle[string]) error {
			*v = unique.Make(string(src))
			return nil
		},
	})
	f, err := (*form.Codecs)(codecs).Form(of, true)
	require.NoError(t, err)
	reds := []clan{{unique.Make("reds"), 1}}
	var read [1]clan
	_, err = f.ReadAll(f.AppendAll(nil, mem.CellsOf(reds)), mem.CellsOf(read[:]))
	require.NoError(t, err)
	require.True(t, reds[0] == read[0])
}

// TestAddresses writes and reads what frames may share, too.
func TestAddresses(t *testing.T) {
	type seen struct {
		At   time.Time
		From netip.AddrPort
		In   [2]netip.Prefix
		Addr netip.Addr
	}
	f, err := (*form.Codecs)(new(state.Codecs)).Form(mem.TypeOf[seen]().Of, true)
	require.NoError(t, err)
	all := []seen{{}, {
		time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC), netip.MustParseAddrPort("[fe80::1%eth0]:80"),
		[2]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, netip.MustParseAddr("::1"),
	}}
	var read [2]seen
	_, err = f.ReadAll(f.AppendAll(nil, mem.CellsOf(all)), mem.CellsOf(read[:]))
	require.NoError(t, err)
	require.Equal(t, all, read[:])
	require.True(t, all[1].From == read[1].From && all[1].In == read[1].In, "they are comparable")
}
