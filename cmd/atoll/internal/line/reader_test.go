package line_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
)

const bytesMax = 8

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, test := range []struct {
		name, in string
		want     []string // "!" is ErrTooLong
	}{
		{"nothing", "", nil},
		{"lines", "a\nbc\n\nd\n", []string{"a", "bc", "", "d"}},
		{"CRLF", "a\r\n\r\nb\r\n", []string{"a", "", "b"}},
		{"CR within", "a\rb\n", []string{"a\rb"}},
		{"half a line at the end", "a\nhalf", []string{"a"}},
		{"as long as can be", "12345678\n12345678\r\n", []string{"12345678", "12345678"}},
		{"one too long", "123456789\nb\n", []string{"!", "b"}},
		{"one too long, CRLF", "123456789\r\nb\n", []string{"!", "b"}},
		{"far too long", long + "\nb\n" + long + "\n" + long + "\nc\n", []string{"!", "b", "!", "!", "c"}},
		{"far too long at the end", "a\n" + long, []string{"a", "!"}},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader, "data with error": iotest.DataErrReader,
		} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				r := line.NewReader(wrap(strings.NewReader(test.in)), bytesMax)
				var got []string
				for {
					text, err := r.Next()
					if err == line.ErrTooLong {
						got = append(got, "!")
						continue
					}
					if err == io.EOF {
						break
					}
					require.NoError(t, err)
					got = append(got, string(text))
				}
				require.Equal(t, test.want, got)
			})
		}
	}
}

// TestReaderGoesOnAfterError checks that a passed deadline loses nothing.
func TestReaderGoesOnAfterError(t *testing.T) {
	r := line.NewReader(iotest.TimeoutReader(iotest.HalfReader(strings.NewReader("abcdef\nghi\n"+strings.Repeat("z", 4000)))), bytesMax)
	var got []string
	var timeouts int
	for {
		text, err := r.Next()
		switch err {
		case nil:
			got = append(got, string(text))
			continue
		case iotest.ErrTimeout:
			timeouts++
			continue
		case line.ErrTooLong:
			continue
		}
		require.Equal(t, io.EOF, err)
		break
	}
	require.Equal(t, 1, timeouts)
	require.Equal(t, []string{"abcdef", "ghi"}, got)
}

func BenchmarkReader(b *testing.B) {
	r := line.NewReader(endless{}, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	const text = "STEER 0.5 -0.5\n"
	return copy(p, strings.Repeat(text, max(1, len(p)/len(text)))), nil
}
