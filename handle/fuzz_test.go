package handle_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// FuzzParse checks that a text is refused with a decent error, or is exactly
// what its handle writes.
func FuzzParse(f *testing.F) {
	for _, test := range textCases {
		f.Add(test.text)
	}
	for _, test := range refusals {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := handle.Parse(text)
		unmarshaled := ^handle.None
		errText := unmarshaled.UnmarshalText([]byte(text))
		if err != nil {
			requireRefusal(t, err, nil)
			require.Equal(t, handle.None, h)
			require.EqualError(t, errText, err.Error())
			require.Equal(t, ^handle.None, unmarshaled)
			return
		}
		require.NoError(t, errText)
		require.Equal(t, h, unmarshaled)
		checkText(t, h, text)
	})
}

// FuzzBinary checks that bytes are refused with a decent error, or are exactly
// what their handle writes; and that every number has a text that reads back,
// or no form at all.
func FuzzBinary(f *testing.F) {
	for _, test := range textCases {
		data, err := test.handle.MarshalBinary()
		require.NoError(f, err)
		f.Add(data)
		f.Add(data[1:])
		f.Add(append(data, 0))
	}
	f.Add([]byte{0, 0, 0, 0, 0x10, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := handle.None
		if err := h.UnmarshalBinary(data); err != nil {
			requireRefusal(t, err, nil)
			require.Equal(t, handle.None, h)
			return
		}
		require.Equal(t, data, checkBinary(t, h))
		checkText(t, h, h.String())
		if !h.IsNone() {
			require.Equal(t, h, handle.New(h.Home(), h.Index(), h.Version()))
		}
	})
}

// FuzzJSON checks UnmarshalJSON against reading a JSON string and parsing it.
func FuzzJSON(f *testing.F) {
	for _, test := range textCases {
		f.Add([]byte(`"` + test.text + `"`))
	}
	for _, data := range []string{"null", "5", "true", "{}", "[]", `""`, `"3:1047\u00405"`, `"\ud83c\udfdd"`, `"\`, " null ", ` "3:1@1"`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		direct := ^handle.None
		if err := direct.UnmarshalJSON(data); err != nil {
			requireRefusal(t, err, nil)
			require.Equal(t, ^handle.None, direct)
		}
		if !json.Valid(data) {
			return
		}
		h := ^handle.None
		err := json.Unmarshal(data, &h)

		var text *string
		if json.Unmarshal(data, &text) != nil {
			requireRefusal(t, err, handle.ErrSyntax)
			return
		}
		if text == nil {
			require.NoError(t, err)
			require.Equal(t, ^handle.None, h, "null changes nothing")
			return
		}
		want, wantErr := handle.Parse(*text)
		if wantErr != nil {
			requireRefusal(t, err, nil)
			require.Equal(t, ^handle.None, h)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, h)
		written, err := json.Marshal(h)
		require.NoError(t, err)
		require.Equal(t, `"`+*text+`"`, string(written))
	})
}
