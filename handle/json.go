package handle

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MarshalJSON returns h as a JSON string that holds its text form, as in
// "3:1047@5", or "none" for [None]. It is not a number, because a JSON number
// of 64 bits is rounded by many of its readers. It implements [json.Marshaler].
// Errors are as for [Handle.AppendText]. Cost: one allocation. Safe from any
// goroutine.
func (h Handle) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, textSizeMax+len(`""`))
	b, err := h.AppendText(append(b, '"'))
	if err != nil {
		return nil, err
	}
	return append(b, '"'), nil
}

// UnmarshalJSON sets h to the handle in a JSON string, whose content must be
// what [Parse] accepts. It implements [json.Unmarshaler].
//
// A JSON null leaves h as it is and is no error, which is the convention of
// encoding/json; [None] is the string "none". A number, and every other JSON
// value, is an error that wraps [ErrSyntax] and asks for a string. The other
// errors are those of Parse. With an error h keeps its value. It does not keep
// data.
//
// Cost: no allocation, except for an error and for a string with backslashes.
// Writes h: not safe while another goroutine uses the same variable.
func (h *Handle) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) < len(`""`) || data[0] != '"' || data[len(data)-1] != '"' {
		return fmt.Errorf("%w: want a JSON string such as %q, found %s", ErrSyntax, `"3:1047@5"`, describeJSON(data))
	}
	if bytes.IndexByte(data, '\\') < 0 {
		return h.UnmarshalText(data[1 : len(data)-1])
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		// Not wrapped: its message may repeat the input as it is.
		return fmt.Errorf("%w: %s is not one JSON string", ErrSyntax, quote(data))
	}
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// describeJSON names the kind of the JSON value that data begins with, and
// quotes it.
func describeJSON(data []byte) string {
	if len(data) == 0 {
		return "nothing"
	}
	kind := "something else"
	switch c := data[0]; {
	case c == '-' || isDigit(c):
		kind = "a number"
	case c == 't' || c == 'f':
		kind = "a boolean"
	case c == '{':
		kind = "an object"
	case c == '[':
		kind = "an array"
	case c == '"':
		kind = "a string without its end"
	}
	return fmt.Sprintf("%s, %s", quote(data), kind)
}
