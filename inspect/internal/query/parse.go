package query

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
)

// This file reads the language of queries: terms with commas between them, all of which must hold.
//
//	Position           has the component        Health.HP < 20     a field, and what it is compared with
//	!Dead              does not have it         Name.Text == "x"   < <= > >= == !=; a number, true, false, a text
//	Flag 3, !Flag 3    has the flag, or not     `odd name`.X > 1   a name with other characters
//	Shard 2            is in the shard          Handle 3:1047@5    is the entity

const (
	queryMax = 4096 // bytes
	termsMax = 64
)

// op is a comparison.
type op uint8

const (
	opNone op = iota
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opEqual
	opNotEqual
)

// ops are the comparisons as they are written. A longer one comes before its prefix.
var ops = [...]string{opLess: "<", opLessEqual: "<=", opGreater: ">", opGreaterEqual: ">=", opEqual: "==", opNotEqual: "!="}

// what a term is about.
type subject uint8

const (
	onComponent subject = iota
	onFlag
	onShard
	onHandle
)

// term is a part of a query as it was written.
type term struct {
	at     int // the column, from 1
	not    bool
	on     subject
	number int           // of a flag or shard
	handle handle.Handle // of an entity
	quoted string        // a name in backquotes; "" for none
	name   string        // the rest of the name
	op     op
	value  literal
}

// literal is what a field is compared with.
type literal struct {
	at     int
	text   string // as it was written, or what is in the quotes
	quoted bool
}

// parser is at a place in a query.
//
// Ownership: the caller of Parse.
type parser struct {
	all  string
	rest string
}

// at returns the column, from 1, in characters.
func (p *parser) at() int {
	return utf8.RuneCountInString(p.all[:len(p.all)-len(p.rest)]) + 1
}

// skip skips white space.
func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take takes a word, if it comes next.
func (p *parser) take(word string) bool {
	rest, ok := strings.CutPrefix(p.rest, word)
	p.rest = rest
	return ok
}

// while takes the characters that are of a kind.
func (p *parser) while(is func(rune) bool) string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !is(r) })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

// inName reports whether a character may stand in a name without quotes.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' || r == '-'
}

// inLiteral reports whether a character belongs to a literal: all but white space and commas.
func inLiteral(r rune) bool { return r != ',' && !unicode.IsSpace(r) }

// next shows what comes next, for messages.
func (p *parser) next() string {
	word := p.rest[:min(len(p.rest), 20)]
	for !utf8.ValidString(word) && len(word) > 0 {
		word = word[:len(word)-1]
	}
	if p.rest == "" {
		return "the end"
	}
	return strconv.Quote(word)
}

// Query is a query as it was written. The zero value asks for everything.
type Query struct{ terms []term }

// Parse reads a query. Its errors have the column. It knows no world.
func Parse(text string) (q Query, err error) {
	switch {
	case len(text) > queryMax:
		return q, errorAt(1, "the query has %d bytes, want %d or fewer", len(text), queryMax)
	case !utf8.ValidString(text):
		return q, errorAt(1, "the query is not UTF-8")
	}
	p := &parser{text, text}
	p.skip()
	for p.rest != "" {
		t, err := p.term()
		if err != nil {
			return q, err
		}
		if len(q.terms) == termsMax {
			return q, errorAt(t.at, "the query has more than %d terms", termsMax)
		}
		q.terms = append(q.terms, t)
		p.skip()
		at, comma := p.at(), p.take(",")
		switch p.skip(); {
		case !comma && p.rest != "":
			return q, errorAt(at, "want a comma or the end, not %s", p.next())
		case comma && p.rest == "":
			return q, errorAt(p.at(), "want a term behind the comma")
		}
	}
	return q, nil
}

// term reads a term. An error has the column of what it could not read.
func (p *parser) term() (t term, err error) {
	t.at = p.at()
	if t.not = p.take("!"); t.not {
		p.skip()
	}
	named := p.at()
	if p.take("`") {
		end := strings.IndexByte(p.rest, '`')
		if end < 1 {
			return t, errorAt(named, "want a name and another backquote")
		}
		t.quoted, p.rest = p.rest[:end], p.rest[end+1:]
		if p.take(".") {
			if t.name = p.while(inName); t.name == "" {
				return t, errorAt(p.at(), "want the name of a field, not %s", p.next())
			}
		}
	} else if t.name = p.while(inName); t.name == "" {
		return t, errorAt(named, "want the name of a component, Flag, Shard or Handle, not %s", p.next())
	}
	p.skip()
	if t.quoted == "" && p.rest != "" && inName(rune(p.rest[0])) {
		if done, err := p.special(&t); done || err != nil {
			return t, err
		}
	}
	return t, p.comparison(&t)
}

// special reads what follows Flag, Shard or Handle, and returns false for another name. An error
// has the column.
func (p *parser) special(t *term) (done bool, err error) {
	at := p.at()
	switch t.name {
	case "Flag":
		t.on, err = onFlag, p.number(&t.number, 7, "a flag from 0 to 7")
	case "Shard":
		t.on, err = onShard, p.number(&t.number, handle.HomeMax, "the number of a shard")
	case "Handle":
		t.on = onHandle
		if t.handle, err = handle.Parse(p.while(inLiteral)); err != nil || t.handle == handle.None {
			err = errorAt(at, "want a handle as 3:1047@5")
		}
	default:
		return false, nil
	}
	return true, err
}

// number reads a whole number up to most. After an error to is unchanged.
func (p *parser) number(to *int, most int, want string) error {
	at, word := p.at(), p.while(inLiteral)
	n, err := strconv.ParseUint(word, 10, 31)
	if err != nil || int(n) > most {
		return errorAt(at, "want %s, not %q", want, word)
	}
	*to = int(n)
	return nil
}

// comparison reads an operator and a literal, if there is one. An error has the column.
func (p *parser) comparison(t *term) error {
	at := p.at()
	for i := len(ops) - 1; i > 0 && t.op == opNone; i-- {
		if p.take(ops[i]) {
			t.op = op(i)
		}
	}
	switch {
	case t.op == opNone && p.take("="):
		return errorAt(at, "want ==, not =")
	case t.op == opNone:
		return nil
	case t.not:
		return errorAt(at, "want a component alone behind !; turn the comparison around")
	}
	p.skip()
	t.value.at = p.at()
	if strings.HasPrefix(p.rest, `"`) {
		quoted, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return errorAt(t.value.at, "the text does not end, or has a bad escape")
		}
		p.rest = p.rest[len(quoted):]
		t.value.quoted = true
		t.value.text, err = strconv.Unquote(quoted)
		return err
	}
	if t.value.text = p.while(inLiteral); t.value.text == "" {
		return errorAt(t.value.at, "want a number, true, false or a text in quotes, not %s", p.next())
	}
	return nil
}
