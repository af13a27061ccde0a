package handle_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

func TestJSON(t *testing.T) {
	for _, test := range textCases {
		t.Run(test.text, func(t *testing.T) {
			data, err := json.Marshal(test.handle)
			require.NoError(t, err)
			require.Equal(t, `"`+test.text+`"`, string(data))

			unmarshaled := ^test.handle
			require.NoError(t, json.Unmarshal(data, &unmarshaled))
			require.Equal(t, test.handle, unmarshaled)
		})
	}
}

func TestJSONInside(t *testing.T) {
	type target struct {
		Target  handle.Handle            `json:"target"`
		Nearby  []handle.Handle          `json:"nearby"`
		Threats map[handle.Handle]int    `json:"threats"`
		Parent  *handle.Handle           `json:"parent"`
		Absent  handle.Handle            `json:"absent,omitzero"`
		Named   map[string]handle.Handle `json:"named"`
	}
	value := target{
		Target:  handle.New(3, 1047, 5),
		Nearby:  []handle.Handle{handle.None, handle.New(0, 0, 1)},
		Threats: map[handle.Handle]int{handle.New(1, 2, 3): 4, handle.None: 5},
		Named:   map[string]handle.Handle{"a": handle.New(9, 9, 9)},
	}
	const text = `{"target":"3:1047@5","nearby":["none","0:0@1"],"threats":{"1:2@3":4,"none":5},"parent":null,"named":{"a":"9:9@9"}}`

	data, err := json.Marshal(value)
	require.NoError(t, err)
	require.Equal(t, text, string(data))

	var read target
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, value, read)
}

// TestJSONEscapes reads strings that JSON may write in more than one way.
func TestJSONEscapes(t *testing.T) {
	for _, text := range []string{`"3:1047\u00405"`, `"\u0033:1047@5"`, ` "3:1047@5" `} {
		var h handle.Handle
		require.NoError(t, json.Unmarshal([]byte(text), &h), text)
		require.Equal(t, handle.New(3, 1047, 5), h, text)
	}
}

func TestJSONNull(t *testing.T) {
	h := handle.New(3, 1047, 5)
	require.NoError(t, json.Unmarshal([]byte("null"), &h))
	require.Equal(t, handle.New(3, 1047, 5), h, "null changes nothing")

	holder := struct{ H handle.Handle }{h}
	require.NoError(t, json.Unmarshal([]byte(`{"H":null}`), &holder))
	require.Equal(t, h, holder.H)
}

func TestJSONRefuses(t *testing.T) {
	const want = `handle: bad syntax: want a JSON string such as "\"3:1047@5\"", found `
	for _, test := range []struct {
		data string
		is   error
		want string
	}{
		{`5`, handle.ErrSyntax, want + `"5", a number`},
		{`-1.5e3`, handle.ErrSyntax, want + `"-1.5e3", a number`},
		{`844424930131973`, handle.ErrSyntax, want + `"844424930131973", a number`},
		{`true`, handle.ErrSyntax, want + `"true", a boolean`},
		{`false`, handle.ErrSyntax, want + `"false", a boolean`},
		{`{"home":3}`, handle.ErrSyntax, want + `"{\"home\":3}", an object`},
		{`[3,1047,5]`, handle.ErrSyntax, want + `"[3,1047,5]", an array`},
		{`""`, handle.ErrSyntax, `handle: bad syntax: "", byte 0: want the home, in digits, found the end`},
		{`"null"`, handle.ErrSyntax, `handle: bad syntax: "null", byte 0: want the home, in digits, found "n"`},
		{`"3:1047@0"`, handle.ErrRange, `handle: out of range: "3:1047@0", byte 7: the version is 0, and versions start at 1`},
		{`"\u0034096:1@1"`, handle.ErrRange, `handle: out of range: "4096:1@1", byte 0: the home is above its limit, ` + shardLimit},
		{`"3:1\n@1"`, handle.ErrSyntax, `handle: bad syntax: "3:1\n@1", byte 3: want '@' after the index, found "\n"`},
		{"\"3:1\xff@1\"", handle.ErrSyntax, `handle: bad syntax: "3:1\xff@1", byte 3: want '@' after the index, found "\xff"`},
	} {
		t.Run(test.data, func(t *testing.T) {
			h := handle.New(7, 7, 7)
			err := json.Unmarshal([]byte(test.data), &h)
			requireRefusal(t, err, test.is)
			require.EqualError(t, err, test.want)
			require.Equal(t, handle.New(7, 7, 7), h)
		})
	}
}

func TestJSONRefusesKeys(t *testing.T) {
	var read map[handle.Handle]int
	require.ErrorIs(t, json.Unmarshal([]byte(`{"3:1047@05":1}`), &read), handle.ErrSyntax)
	require.ErrorIs(t, json.Unmarshal([]byte(`{"3:1047@0":1}`), &read), handle.ErrRange)
}

// TestUnmarshalJSONDirect calls the method with what encoding/json would have
// refused before.
func TestUnmarshalJSONDirect(t *testing.T) {
	for _, data := range []string{
		"", `"`, `"3:1@1`, `"3:1@12`, `3:1@1"`, `73:1@1"`, ` "3:1@1"`, `"3:1@1" `, `"3:1@1","3:1@2"`, `"\u0033:1@1","3:1@2"`, `"\"`, `"\u00"`, `"\x33:1@1"`, "\"\\u\xc3\"",
		"nul", "nullnull", "NaN", "\x00", "'3:1@1'", strings.Repeat("[", 10_000), `"` + strings.Repeat(`\u0030`, 10_000) + `"`,
	} {
		t.Run(fmt.Sprintf("%.40q", data), func(t *testing.T) {
			h := handle.New(7, 7, 7)
			requireRefusal(t, h.UnmarshalJSON([]byte(data)), handle.ErrSyntax)
			require.Equal(t, handle.New(7, 7, 7), h)
		})
	}
}

// TestUnmarshalJSONDescribes reads what encoding/json never passes on.
func TestUnmarshalJSONDescribes(t *testing.T) {
	for data, want := range map[string]string{
		``: `found nothing`, ` "3:1@1"`: `found " \"3:1@1\"", something else`, `"3:1@1`: `found "\"3:1@1", a string without its end`,
	} {
		var h handle.Handle
		require.EqualError(t, h.UnmarshalJSON([]byte(data)), `handle: bad syntax: want a JSON string such as "\"3:1047@5\"", `+want)
	}
}

func TestMalformedHasNoJSON(t *testing.T) {
	data, err := malformed.MarshalJSON()
	requireRefusal(t, err, handle.ErrRange)
	require.Nil(t, data)

	_, err = json.Marshal(malformed)
	require.ErrorIs(t, err, handle.ErrRange)
}
