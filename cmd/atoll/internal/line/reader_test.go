package line_test

import (
	"bytes"
	"errors"
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

// FuzzReader reads bytes that come in pieces of any length: each line that ends is there,
// or is told once to be too long, and the buffer does not grow.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\nbb\n\n"), uint8(1))
	f.Add(append(bytes.Repeat([]byte("x"), 5000), '\n', 'y', '\n'), uint8(200))
	f.Add([]byte("\r\r\n12345678\r\n123456789\n"), uint8(3))
	f.Fuzz(func(t *testing.T, sent []byte, piece uint8) {
		r := line.NewReader(&pieces{sent, int(piece) + 1}, bytesMax)
		ended := bytes.Split(sent, []byte("\n"))
		for _, want := range ended[:len(ended)-1] {
			want = bytes.TrimSuffix(want, []byte("\r"))
			got, err := r.Next()
			if len(want) > bytesMax {
				require.ErrorIs(t, err, line.ErrTooLong)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		}
		_, err := r.Next()
		if errors.Is(err, line.ErrTooLong) { // of what has no end
			_, err = r.Next()
		}
		require.ErrorIs(t, err, io.EOF)
	})
}

// pieces is a reader that gives n bytes at a time.
type pieces struct {
	left []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.left)
	p.left = p.left[n:]
	return n, nil
}
