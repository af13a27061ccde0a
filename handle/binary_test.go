package handle_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

func TestBinary(t *testing.T) {
	for _, test := range []struct {
		handle handle.Handle
		want   []byte
	}{
		{handle.None, []byte{0, 0, 0, 0, 0, 0, 0, 0}},
		{handle.New(0, 0, 1), []byte{0, 0, 0, 0, 0, 0, 0, 1}},
		{handle.New(3, 1047, 5), unhex(bits)},
		{handle.New(handle.HomeMax, 0, 1), unhex(lastShard)},
		{^handle.None, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
	} {
		t.Run(test.handle.String(), func(t *testing.T) { require.Equal(t, test.want, checkBinary(t, test.handle)) })
	}
}

// TestBinaryOrder checks the round trip, and that the order of the bytes is the
// order of the handles.
func TestBinaryOrder(t *testing.T) {
	check := func(f, g fields) {
		a, b := f.handle(), g.handle()
		require.Equal(t, a.Compare(b), bytes.Compare(checkBinary(t, a), checkBinary(t, b)), "%v, %v", a, b)
	}
	for _, f := range corners() {
		for _, g := range corners() {
			check(f, g)
		}
	}
	forEachRandom(t, 10_000, func(_ *rand.Rand, random func() fields) { check(random(), random()) })
}

// checkBinary returns the binary form of h, after checking every way to write
// and read it.
func checkBinary(t *testing.T, h handle.Handle) []byte {
	t.Helper()
	data, err := h.MarshalBinary()
	require.NoError(t, err)
	require.Len(t, data, 8)

	appended, err := h.AppendBinary([]byte("h="))
	require.NoError(t, err)
	require.Equal(t, append([]byte("h="), data...), appended)

	unmarshaled := ^h
	require.NoError(t, unmarshaled.UnmarshalBinary(data))
	require.Equal(t, h, unmarshaled)
	return data
}

func TestBinaryRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		data []byte
		is   error
		want string
	}{
		{"nil", nil, handle.ErrSyntax, "handle: bad syntax: want 8 bytes, found 0"},
		{"short", make([]byte, 7), handle.ErrSyntax, "handle: bad syntax: want 8 bytes, found 7"},
		{"long", make([]byte, 9), handle.ErrSyntax, "handle: bad syntax: want 8 bytes, found 9"},
		{"very long", make([]byte, 1<<20), handle.ErrSyntax, "handle: bad syntax: want 8 bytes, found 1048576"},
		{
			"version 0", unhex(bitsOfNone), handle.ErrRange,
			"handle: out of range: bytes " + bitsOfNone + ": the version, in the lowest " + versionBits + " bits, is 0, and versions start at 1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := handle.New(7, 7, 7)
			err := h.UnmarshalBinary(test.data)
			requireRefusal(t, err, test.is)
			require.EqualError(t, err, test.want)
			require.Equal(t, handle.New(7, 7, 7), h)
		})
	}
}

func TestMalformedHasNoBinary(t *testing.T) {
	b, err := malformed.AppendBinary([]byte("kept"))
	requireRefusal(t, err, handle.ErrRange)
	require.Equal(t, "kept", string(b))
	_, err = malformed.MarshalBinary()
	requireRefusal(t, err, handle.ErrRange)
}

// unhex returns the bytes of a number in hexadecimal.
func unhex(digits string) []byte {
	data, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return data
}
