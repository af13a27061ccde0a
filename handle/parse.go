package handle

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Parse returns the handle whose text form is s, as [Handle.String] writes it:
// home:index@version, or "none" for [None].
//
// It accepts the canonical form only, so two texts are equal when their handles
// are: decimal ASCII digits without sign, space or leading zero, and nothing
// before or after. A text of another form is refused with an error that wraps
// [ErrSyntax]; a home above [HomeMax], an index above [IndexMax], or a version
// that is 0 or above [VersionMax] with one that wraps [ErrRange]. The handle is
// then None. When several things are wrong, the error names the first from the
// left.
//
// The handle may be stale, and s may come from an attacker: a world checks each handle at each use.
// However long s is, Parse stops at the first byte that is wrong, so within its first 24, and an
// error repeats at most its first 32, in printable ASCII.
//
// Cost: no allocation, except for an error. Safe from any goroutine.
func Parse(s string) (Handle, error) { return parse(s) }

// parse is Parse for text in either type, so that neither is copied.
func parse[T string | []byte](text T) (Handle, error) {
	r := reader[T]{text: text}
	if r.skip(textNone) {
		r.end(textNone)
		return None, r.err
	}
	home := r.number("home", HomeMax)
	r.separator(':', "home")
	index := r.number("index", IndexMax)
	r.separator('@', "index")
	version := r.number("version", VersionMax)
	if version == 0 {
		r.fail(ErrRange, r.at-len("0"), "the version is 0, and versions start at 1")
	}
	r.end("the version")
	if r.err != nil {
		return None, r.err
	}
	return New(home, index, version), nil
}

// reader reads a text from left to right. Once something is wrong it keeps the
// error and reads on no further.
type reader[T string | []byte] struct {
	text T
	at   int // offset of the next byte
	err  error
}

// skip steps over word if it comes next, and reports whether it did.
func (r *reader[T]) skip(word string) bool {
	end := r.at + len(word)
	if r.err != nil || len(r.text) < end || string(r.text[r.at:end]) != word {
		return false
	}
	r.at = end
	return true
}

// number reads a decimal number up to limit. field is its name in errors.
func (r *reader[T]) number(field string, limit uint32) uint32 {
	if r.err != nil {
		return 0
	}
	start, value := r.at, uint64(0)
	for r.at < len(r.text) && isDigit(r.text[r.at]) {
		if r.at > start && value == 0 {
			r.fail(ErrSyntax, start, "the "+field+" has a leading zero")
			return 0
		}
		value = value*10 + uint64(r.text[r.at]-'0')
		if value > uint64(limit) {
			r.fail(ErrRange, start, fmt.Sprintf("the %s is above its limit, %d", field, limit))
			return 0
		}
		r.at++
	}
	if r.at == start {
		r.fail(ErrSyntax, start, "want the "+field+", in digits, found "+r.found())
	}
	return uint32(value)
}

// separator reads the byte that ends field.
func (r *reader[T]) separator(want byte, field string) {
	if r.err != nil {
		return
	}
	if r.at == len(r.text) || r.text[r.at] != want {
		r.fail(ErrSyntax, r.at, fmt.Sprintf("want %q after the %s, found %s", want, field, r.found()))
		return
	}
	r.at++
}

// end checks that the text ends after what.
func (r *reader[T]) end(what string) {
	if r.err == nil && r.at < len(r.text) {
		r.fail(ErrSyntax, r.at, "want the end after "+what+", found "+r.found())
	}
}

// fail records the first error.
func (r *reader[T]) fail(sentinel error, at int, problem string) {
	if r.err == nil {
		r.err = inputError(sentinel, r.text, at, problem)
	}
}

// found names what comes next, in printable ASCII.
func (r *reader[T]) found() string {
	if r.at == len(r.text) {
		return "the end"
	}
	next := string(r.text[r.at:min(r.at+utf8.UTFMax, len(r.text))])
	_, size := utf8.DecodeRuneInString(next)
	return strconv.QuoteToASCII(next[:size])
}

// isDigit reports whether b is an ASCII digit.
func isDigit(b byte) bool { return '0' <= b && b <= '9' }
