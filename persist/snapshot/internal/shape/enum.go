package shape

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Enum has the constants of a type of integers, as a snapshot describes them.
//
// Ownership: immutable once it is read.
type Enum struct {
	Name      string // of the type, such as game.Slot
	Constants []Constant
}

// Constant is a constant of an enum. The number of an unsigned type is the int64 of the same bits.
type Constant struct {
	Name   string
	Number int64
}

// Of returns the index of the constant with a name, or -1.
func (e *Enum) Of(name string) int {
	return slices.IndexFunc(e.Constants, func(c Constant) bool { return c.Name == name })
}

// At returns the index of the constant with a number, or -1.
func (e *Enum) At(n int64) int {
	return slices.IndexFunc(e.Constants, func(c Constant) bool { return c.Number == n })
}

// enum reads the name and the constants of an enum. An error is in err.
func (t *typeParser) enum(kind reflect.Kind) *Enum {
	e, known, end := &Enum{Name: t.quoted()}, map[string]bool{}, "("
	for t.err == nil && !t.cut(")") {
		t.must(end)
		c := Constant{Name: t.quoted()}
		t.must("=")
		digits := len(t.rest) - len(strings.TrimLeft(t.rest, "-0123456789"))
		n, err := strconv.ParseInt(t.rest[:digits], 10, 64)
		last := len(e.Constants) - 1
		if err != nil || known[c.Name] || c.Name == "" || !holds(kind, n) || last >= 0 && n <= e.Constants[last].Number {
			t.fail()
			break
		}
		t.rest = t.rest[digits:]
		c.Number, known[c.Name], end = n, true, ","
		e.Constants = append(e.Constants, c)
	}
	if len(e.Constants) == 0 {
		t.fail()
	}
	return e
}

// quoted reads a text in quotes.
func (t *typeParser) quoted() string {
	quoted, err := strconv.QuotedPrefix(t.rest)
	if err != nil || quoted[0] != '"' {
		t.fail()
		return ""
	}
	t.rest = t.rest[len(quoted):]
	text, _ := strconv.Unquote(quoted) // it is quoted
	return text
}

// holds reports whether a kind of integer has a number. An unsigned one of 8 bytes has each.
func holds(k reflect.Kind, n int64) bool {
	width, signed := Exact(k)
	switch {
	case width >= 63:
		return true
	case signed:
		return n >= -1<<width && n < 1<<width
	}
	return n >= 0 && n < 1<<width
}

// WithoutEnums returns the description of a type without the names and constants of its enums, for
// people.
func WithoutEnums(text string) string {
	if !strings.Contains(text, `"(`) {
		return text
	}
	var b strings.Builder
	for text != "" {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil || quoted[0] != '"' {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		if text = text[len(quoted):]; !strings.HasPrefix(text, "(") {
			b.WriteString(quoted)
			continue
		}
		for text != "" && text[0] != ')' {
			if quoted, err := strconv.QuotedPrefix(text); err == nil && quoted[0] == '"' {
				text = text[len(quoted):]
				continue
			}
			text = text[1:]
		}
		text = strings.TrimPrefix(text, ")")
	}
	return b.String()
}
