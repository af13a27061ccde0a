package prefab

import (
	"strconv"
	"unicode/utf8"
)

// path is the way to a value in a file; it becomes text only in an error. nil is the path of the
// whole file.
type path struct {
	in   *path
	name string // of a member
	at   int    // in a list; -1: it is a member
}

func (p *path) member(name string) *path { return &path{p, name, -1} }

func (p *path) element(at int) *path { return &path{p, "", at} }

// String returns the path as `orc.children[2].place`, with the middle cut out if it is long.
func (p *path) String() string {
	text := string(p.append(nil))
	if len(text) <= 2*shortMost {
		return text
	}
	from := len(text) - shortMost
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return short(text) + text[from:]
}

// append appends the text. A path has at most depthMost parts, and a few more that Load itself
// names.
func (p *path) append(dst []byte) []byte {
	switch {
	case p == nil:
		return dst
	case p.at >= 0:
		return append(strconv.AppendInt(append(p.in.append(dst), '['), int64(p.at), 10), ']')
	}
	if dst = p.in.append(dst); len(dst) > 0 {
		dst = append(dst, '.')
	}
	return append(dst, short(p.name)...)
}

// shortMost is how many bytes of a text of a file an error shows.
const shortMost = 80

// short cuts a text.
func short(text string) string {
	if len(text) <= shortMost {
		return text
	}
	to := shortMost
	for !utf8.RuneStart(text[to]) {
		to--
	}
	return text[:to] + "…"
}
