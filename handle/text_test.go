package handle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// textCase is a handle and its one text form.
type textCase struct {
	handle handle.Handle
	text   string
}

var textCases = []textCase{
	{handle.None, "none"},
	{handle.New(3, 1047, 5), "3:1047@5"},
	{handle.New(0, 0, 1), "0:0@1"},
	{handle.New(10, 100, 1000), "10:100@1000"},
	{handle.New(handle.HomeMax, 0, 1), shardLimit + ":0@1"},
	{handle.New(0, handle.IndexMax, 1), "0:" + indexLimit + "@1"},
	{handle.New(0, 0, handle.VersionMax), "0:0@" + versionLimit},
	{handle.New(handle.HomeMax, handle.IndexMax, handle.VersionMax), shardLimit + ":" + indexLimit + "@" + versionLimit},
}

// refusal is a text that is no handle, and what must be said about it.
type refusal struct {
	text string
	is   error
	want string // the message, after the text
}

var refusals = []refusal{
	{"", handle.ErrSyntax, "byte 0: want the home, in digits, found the end"},
	{"3", handle.ErrSyntax, "byte 1: want ':' after the home, found the end"},
	{"3:", handle.ErrSyntax, "byte 2: want the index, in digits, found the end"},
	{"3:1047", handle.ErrSyntax, "byte 6: want '@' after the index, found the end"},
	{"3:1047@", handle.ErrSyntax, "byte 7: want the version, in digits, found the end"},
	{":1@1", handle.ErrSyntax, `byte 0: want the home, in digits, found ":"`},
	{"3:@1", handle.ErrSyntax, `byte 2: want the index, in digits, found "@"`},
	{"@", handle.ErrSyntax, `byte 0: want the home, in digits, found "@"`},

	{"03:1@1", handle.ErrSyntax, "byte 0: the home has a leading zero"},
	{"00:1@1", handle.ErrSyntax, "byte 0: the home has a leading zero"},
	{"3:01@1", handle.ErrSyntax, "byte 2: the index has a leading zero"},
	{"3:00@1", handle.ErrSyntax, "byte 2: the index has a leading zero"},
	{"3:1@01", handle.ErrSyntax, "byte 4: the version has a leading zero"},
	{"3:1@00", handle.ErrSyntax, "byte 4: the version has a leading zero"},
	{strings.Repeat("0", 1000), handle.ErrSyntax, "byte 0: the home has a leading zero"},

	{"+3:1@1", handle.ErrSyntax, `byte 0: want the home, in digits, found "+"`},
	{"-3:1@1", handle.ErrSyntax, `byte 0: want the home, in digits, found "-"`},
	{"3:+1@1", handle.ErrSyntax, `byte 2: want the index, in digits, found "+"`},
	{"3:1@-1", handle.ErrSyntax, `byte 4: want the version, in digits, found "-"`},
	{"3:1_0@1", handle.ErrSyntax, `byte 3: want '@' after the index, found "_"`},
	{"0x3:1@1", handle.ErrSyntax, `byte 1: want ':' after the home, found "x"`},
	{"3:1e3@1", handle.ErrSyntax, `byte 3: want '@' after the index, found "e"`},

	{" 3:1@1", handle.ErrSyntax, `byte 0: want the home, in digits, found " "`},
	{"3 :1@1", handle.ErrSyntax, `byte 1: want ':' after the home, found " "`},
	{"3:1@1 ", handle.ErrSyntax, `byte 5: want the end after the version, found " "`},
	{"3:1@1\n", handle.ErrSyntax, `byte 5: want the end after the version, found "\n"`},
	{"3:1@1\x00", handle.ErrSyntax, `byte 5: want the end after the version, found "\x00"`},
	{"3:1@1@1", handle.ErrSyntax, `byte 5: want the end after the version, found "@"`},
	{"3:1@1,3:1@2", handle.ErrSyntax, `byte 5: want the end after the version, found ","`},
	{"3@1:1", handle.ErrSyntax, `byte 1: want ':' after the home, found "@"`},
	{"3:1:1", handle.ErrSyntax, `byte 3: want '@' after the index, found ":"`},
	{"3;1@1", handle.ErrSyntax, `byte 1: want ':' after the home, found ";"`},
	{`"3:1@1"`, handle.ErrSyntax, `byte 0: want the home, in digits, found "\""`},
	{"12345", handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},

	{"None", handle.ErrSyntax, `byte 0: want the home, in digits, found "N"`},
	{"NONE", handle.ErrSyntax, `byte 0: want the home, in digits, found "N"`},
	{"non", handle.ErrSyntax, `byte 0: want the home, in digits, found "n"`},
	{"none ", handle.ErrSyntax, `byte 4: want the end after none, found " "`},
	{"nonesuch", handle.ErrSyntax, `byte 4: want the end after none, found "s"`},
	{"nil", handle.ErrSyntax, `byte 0: want the home, in digits, found "n"`},

	{"٣:1@1", handle.ErrSyntax, `byte 0: want the home, in digits, found "\u0663"`},
	{"3\u200b:1@1", handle.ErrSyntax, `byte 1: want ':' after the home, found "\u200b"`},
	{"3:1\U0001f3dd@1", handle.ErrSyntax, `byte 3: want '@' after the index, found "\U0001f3dd"`},
	{"\ufeff3:1@1", handle.ErrSyntax, `byte 0: want the home, in digits, found "\ufeff"`},
	{"3:1@\xff", handle.ErrSyntax, `byte 4: want the version, in digits, found "\xff"`},
	{"3:1@1\xe2\x82", handle.ErrSyntax, `byte 5: want the end after the version, found "\xe2"`},

	{shardBeyond + ":1@1", handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},
	{shardLimit + "0:1@1", handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},
	{"3:" + indexBeyond + "@1", handle.ErrRange, "byte 2: the index is above its limit, " + indexLimit},
	{"3:1@" + versionBeyond, handle.ErrRange, "byte 4: the version is above its limit, " + versionLimit},
	{"3:1@4294967297", handle.ErrRange, "byte 4: the version is above its limit, " + versionLimit},
	{"18446744073709551617:1@1", handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},
	{"3:1@0", handle.ErrRange, "byte 4: the version is 0, and versions start at 1"},
	{"0:0@0", handle.ErrRange, "byte 4: the version is 0, and versions start at 1"},
	{shardBeyond + ":-1@x", handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},
	{strings.Repeat("9", 32), handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit}, // quoted whole
	{strings.Repeat("9", 33), handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},
	{strings.Repeat("9", 1000), handle.ErrRange, "byte 0: the home is above its limit, " + shardLimit},
}

func TestText(t *testing.T) {
	for _, test := range textCases {
		t.Run(test.text, func(t *testing.T) { checkText(t, test.handle, test.text) })
	}
}

func TestTextRoundTrip(t *testing.T) {
	check := func(f fields) {
		text := fmt.Sprintf("%d:%d@%d", f.home, f.index, f.version)
		checkText(t, f.handle(), text)
	}
	for _, f := range corners() {
		check(f)
	}
	forEachRandom(t, 10_000, func(_ *rand.Rand, random func() fields) { check(random()) })
}

// checkText checks that text is the form of h, by every way to write and read.
func checkText(t *testing.T, h handle.Handle, text string) {
	t.Helper()
	require.Equal(t, text, h.String())

	parsed, err := handle.Parse(text)
	require.NoError(t, err)
	require.Equal(t, h, parsed)

	marshaled, err := h.MarshalText()
	require.NoError(t, err)
	require.Equal(t, text, string(marshaled))

	appended, err := h.AppendText([]byte("h="))
	require.NoError(t, err)
	require.Equal(t, "h="+text, string(appended))

	unmarshaled := ^h
	require.NoError(t, unmarshaled.UnmarshalText(marshaled))
	require.Equal(t, h, unmarshaled)
}

func TestTextSizeMax(t *testing.T) {
	require.Len(t, (^handle.None).String(), handle.TextSizeMax)
}

func TestParseRefuses(t *testing.T) {
	for _, test := range refusals {
		t.Run(strconv.QuoteToASCII(test.text[:min(len(test.text), 40)]), func(t *testing.T) {
			h, err := handle.Parse(test.text)
			require.Equal(t, handle.None, h)
			requireRefusal(t, err, test.is)
			quoted := strconv.QuoteToASCII(test.text)
			if len(test.text) > 32 {
				quoted = fmt.Sprintf("%s... (%d bytes)", strconv.QuoteToASCII(test.text[:32]), len(test.text))
			}
			require.EqualError(t, err, test.is.Error()+": "+quoted+", "+test.want)

			kept := handle.New(7, 7, 7)
			require.EqualError(t, kept.UnmarshalText([]byte(test.text)), err.Error())
			require.Equal(t, handle.New(7, 7, 7), kept)
		})
	}
}

// TestParseRefusesEveryByte puts each of the 256 bytes in the place of each byte
// of a good text, and between them: what is accepted is canonical.
func TestParseRefusesEveryByte(t *testing.T) {
	const good = "31:1047@52"
	for at := range len(good) + 1 {
		for b := range 256 {
			inserted := good[:at] + string([]byte{byte(b)}) + good[at:]
			checkCanonical(t, inserted)
			if at < len(good) {
				checkCanonical(t, good[:at]+string([]byte{byte(b)})+good[at+1:])
			}
		}
	}
}

// checkCanonical checks that text is refused, or is exactly what its handle
// writes.
func checkCanonical(t *testing.T, text string) {
	t.Helper()
	h, err := handle.Parse(text)
	if err != nil {
		requireRefusal(t, err, nil)
		require.Equal(t, handle.None, h)
		return
	}
	require.Equal(t, text, h.String())
}

// requireRefusal checks what holds for every error about input: it wraps one
// sentinel (is, if that is given), has the package's prefix, and is short and
// printable.
func requireRefusal(t *testing.T, err error, is error) {
	t.Helper()
	require.Error(t, err)
	syntax, outside := errors.Is(err, handle.ErrSyntax), errors.Is(err, handle.ErrRange)
	require.True(t, syntax != outside, "wraps one sentinel: %v", err)
	if is != nil {
		require.ErrorIs(t, err, is)
	}
	require.True(t, strings.HasPrefix(err.Error(), "handle: "), "%v", err)
	require.LessOrEqual(t, len(err.Error()), 600, "%v", err)
	for _, r := range err.Error() {
		require.True(t, ' ' <= r && r <= '~', "%q in %q", r, err.Error())
	}
}

func TestMalformedHasNoText(t *testing.T) {
	require.Equal(t, "0:1@0", malformed.String())
	_, err := handle.Parse(malformed.String())
	require.ErrorIs(t, err, handle.ErrRange)

	b, err := malformed.AppendText([]byte("kept"))
	requireRefusal(t, err, handle.ErrRange)
	require.EqualError(t, err, "handle: out of range: 0:1@0 (bits "+malformedBits+") cannot be encoded: versions start at 1")
	require.Equal(t, "kept", string(b))
	_, err = malformed.MarshalText()
	requireRefusal(t, err, handle.ErrRange)
}
