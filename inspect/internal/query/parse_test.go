package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// String writes the term as it can be read again.
func (t term) String() string {
	var b strings.Builder
	if t.not {
		b.WriteByte('!')
	}
	switch t.on {
	case onFlag:
		fmt.Fprintf(&b, "Flag %d", t.number)
	case onShard:
		fmt.Fprintf(&b, "Shard %d", t.number)
	case onHandle:
		fmt.Fprintf(&b, "Handle %v", t.handle)
	default:
		if t.quoted != "" {
			b.WriteString("`" + t.quoted + "`")
			if t.name != "" {
				b.WriteByte('.')
			}
		}
		b.WriteString(t.name)
		if t.op != opNone {
			b.WriteString(" " + ops[t.op] + " ")
			if t.value.quoted {
				b.WriteString(strconv.Quote(t.value.text))
			} else {
				b.WriteString(t.value.text)
			}
		}
	}
	return b.String()
}

// TestParse reads queries and writes them again.
func TestParse(t *testing.T) {
	for query, want := range map[string]string{
		"":                                "",
		"  ":                              "",
		"Position":                        "Position",
		"Position,!Dead":                  "Position, !Dead",
		"Health.HP<20 , Health.HP >=-1.5": "Health.HP < 20, Health.HP >= -1.5",
		`Label.Text == "a, b\"c"`:         `Label.Text == "a, b\"c"`,
		"Flag 3, ! Flag 0, Shard 12":      "Flag 3, !Flag 0, Shard 12",
		"Handle 3:1047@5":                 "Handle 3:1047@5",
		"Flag, Shard > 3, Handle":         "Flag, Shard > 3, Handle",
		"`odd name`.X != true":            "`odd name`.X != true",
		"`odd name` <= 1":                 "`odd name` <= 1",
		"Größe.Höhe == 1":                 "Größe.Höhe == 1",
	} {
		q, err := Parse(query)
		require.NoError(t, err, query)
		var all []string
		for _, x := range q.terms {
			all = append(all, x.String())
		}
		require.Equal(t, want, strings.Join(all, ", "))
	}
}

// TestParseRefused reads what is no query. Errors say the column.
func TestParseRefused(t *testing.T) {
	for _, test := range []struct {
		query string
		at    int
		says  string
	}{
		{",", 1, "want the name"},
		{"A,", 3, "behind the comma"},
		{"A,,B", 3, "want the name"},
		{"A B", 3, "want a comma"},
		{"ÄÖ $", 4, `not "$"`},
		{"A = 3", 3, "want =="},
		{"A.X <", 6, "not the end"},
		{"A.X < ,B", 7, "want a number"},
		{"!A < 3", 4, "turn the comparison"},
		{"!", 2, "not the end"},
		{`A.X == "abc`, 8, "does not end"},
		{`A.X == "\q"`, 8, "bad escape"},
		{"`", 1, "another backquote"},
		{"``", 1, "want a name"},
		{"`A`.", 5, "name of a field"},
		{"Flag 8", 6, "from 0 to 7"},
		{"Flag x", 6, `not "x"`},
		{"Shard -1", 7, "number of a shard"},
		{"Shard 99999999999", 7, "number of a shard"},
		{"Handle 3", 8, "want a handle"},
		{"Handle none", 8, "want a handle"},
		{"A\xff", 1, "not UTF-8"},
		{strings.Repeat("A", queryMax+1), 1, "4097 bytes"},
		{strings.Repeat("A,", termsMax) + "A", 2*termsMax + 1, "more than 64 terms"},
	} {
		_, err := Parse(test.query)
		e := new(Error)
		require.True(t, errors.As(err, &e), test.query)
		require.Equal(t, test.at, e.At, "%s: %v", test.query, err)
		require.Contains(t, e.Text, test.says, test.query)
	}
}

// FuzzParse reads anything. What it reads it can write and read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"Position, !Dead", "Health.HP < 20", `A == "x"`, "Flag 3, Shard 2, Handle 3:1047@5", "`a b`.c != 1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := Parse(query)
		if err != nil {
			e := new(Error)
			require.True(t, errors.As(err, &e))
			require.Positive(t, e.At)
			require.LessOrEqual(t, e.At, len(query)+1)
			return
		}
		var all []string
		for _, x := range q.terms {
			all = append(all, x.String())
		}
		text := strings.Join(all, ",")
		if len(text) > queryMax {
			return // quotes take more room than before
		}
		again, err := Parse(text)
		require.NoError(t, err, text)
		require.Len(t, again.terms, len(q.terms))
		for i := range again.terms {
			x, y := &q.terms[i], &again.terms[i]
			x.at, x.value.at, y.at, y.value.at = 0, 0, 0, 0
		}
		require.Equal(t, q, again)
	})
}
