package idle_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
)

// lasting is how long each rule is held against new programs. CI gives it seconds, a nightly job
// an hour.
var lasting = flag.Duration("for", 2*time.Second, "how long each rule is tried with new random programs")

// only is the seed of a program to be repeated alone.
var only = flag.Uint64("program", 0, "seed of the only program to try")

// programs calls f with new seeds for as long as -for says.
func programs(t *testing.T, f func(seed uint64) error) {
	t.Parallel()
	if *only != 0 {
		require.NoError(t, f(*only))
		return
	}
	first, n := seed.Of(t), uint64(0)
	for began := time.Now(); time.Since(began) < *lasting; n++ {
		x := rand.New(rand.NewPCG(first, n)).Uint64() | 1
		if err := protected(f, x); err != nil {
			t.Fatalf("program %d: %v\nagain: go test ./proof/idle -run '^%s$' -program %d", n, err, t.Name(), x)
		}
	}
	t.Logf("%d programs", n)
}

func protected(f func(uint64) error, x uint64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f(x)
}

// deedsOf is how many deeds and ticks a program has.
const deedsOf = 120

// follower is a world that was made of what another was saved as, and does the same from there on.
type follower struct {
	*house
	way  string
	left int
}

// TestSaved saves a world at any moment and goes on with what was loaded beside it.
func TestSaved(t *testing.T) {
	programs(t, func(seed uint64) error { return saved(seed, false) })
}

// TestMore does the same with a program that has more in it.
func TestMore(t *testing.T) {
	programs(t, func(seed uint64) error { return saved(seed, true) })
}

func saved(seed uint64, more bool) error {
	dice := rand.New(rand.NewPCG(seed, 3))
	h := newHouse(seed, shape{workers: 1})
	defer h.close()
	var followers []*follower
	defer func() {
		for _, f := range followers {
			f.close()
		}
	}()
	var chain snapshot.Chain
	var links [][]byte
	history := []string{}
	for range deedsOf {
		if dice.IntN(6) == 0 && len(followers) < 3 {
			f, err := h.follow(dice, more, &chain, &links)
			if err != nil {
				return fmt.Errorf("after %s: %w", last(history), err)
			}
			followers = append(followers, f)
		}
		x := dice.Uint64()
		what := h.deedOrTick(x)
		history = append(history, what.String())
		want, err := h.hasher.Sections()
		if err != nil {
			return err
		}
		left := followers[:0]
		for _, f := range followers {
			got := f.deedOrTick(x)
			if got.String() != what.String() {
				return fmt.Errorf("a world loaded %s answers\n\t%v, and the other\n\t%v\nafter %s", f.way, got, what, last(history))
			}
			sections, err := f.hasher.Sections()
			if err != nil {
				return err
			}
			if d := differing(want, sections, more); d != "" {
				return fmt.Errorf("a world loaded %s differs in %s after %s", f.way, d, last(history))
			}
			if f.left--; f.left > 0 {
				left = append(left, f)
			} else {
				f.close()
			}
		}
		followers = left
	}
	return nil
}

// deedOrTick does what is drawn from a number.
func (h *house) deedOrTick(x uint64) done {
	dice, most := rand.New(rand.NewPCG(x, 4)), either
	if h.placed {
		most = creates
	}
	if dice.IntN(8) == 0 {
		return h.pass(dice, most)
	}
	return h.act(dice)
}

// last returns the last lines of a history.
func last(history []string) (text string) {
	for _, x := range history[max(0, len(history)-12):] {
		text += "\n\t" + x
	}
	return text
}

// differing returns the name of the first section that differs. A program with more has more, and
// another section that lists what is registered.
func differing(a, b []state.Section, more bool) string {
	in := map[string]state.Hash{}
	for _, s := range b {
		in[s.Name] = s.Hash
	}
	for _, s := range a {
		if h, ok := in[s.Name]; (!ok || h != s.Hash) && !(more && s.Name == "the world") {
			return s.Name
		}
	}
	if !more && len(a) != len(b) {
		return "the number of sections"
	}
	return ""
}

// follow makes a world of what this one is saved as, in one of the forms there are.
func (h *house) follow(dice *rand.Rand, more bool, chain *snapshot.Chain, links *[][]byte) (*follower, error) {
	before, err := h.hasher.StateHash()
	if err != nil {
		return nil, err
	}
	f := &follower{house: newHouse(h.seed, shape{workers: []int{1, 2, 5}[dice.IntN(3)], chaos: dice.Uint64() >> (dice.IntN(2) * 64), more: more}), left: 1 + dice.IntN(30)}
	ways := []func() error{
		func() error {
			f.way = "from a file"
			var b bytes.Buffer
			return errors.Join(snapshot.Write(&b, h.World, h.options(1)), snapshot.Load(&b, f.World, f.options(2)))
		},
		func() error {
			f.way = "as a fork"
			c, err := snapshot.Capture(h.World, h.options(1))
			if err != nil {
				return err
			}
			defer c.Release()
			return c.Load(f.World, f.options(1))
		},
		func() error {
			f.way = "from text"
			var a, b, c bytes.Buffer
			if err := snapshot.Write(&a, h.World, h.options(2)); err != nil {
				return err
			}
			_, err := snaptext.Export(&a, &b, snapshot.Options{})
			if err == nil {
				_, err = snaptext.Import(&b, &c, snapshot.Options{})
			}
			return errors.Join(err, snapshot.Load(&c, f.World, f.options(1)))
		},
		func() error {
			f.way = "from a chain"
			c, err := snapshot.Capture(h.World, h.options(1))
			if err != nil {
				return err
			}
			defer c.Release()
			var b bytes.Buffer
			if err := chain.Write(&b, c); err != nil {
				return err
			}
			*links = append(*links, b.Bytes())
			var all []io.Reader
			for _, l := range *links {
				all = append(all, bytes.NewReader(l))
			}
			return snapshot.Load(snapshot.Merge(all[0], all[1:]...), f.World, f.options(1))
		},
	}
	if err := ways[dice.IntN(len(ways))](); err != nil {
		f.close()
		return nil, fmt.Errorf("a world saved and loaded %s: %w", f.way, err)
	}
	after, err := h.hasher.StateHash()
	if err == nil && after != before {
		err = errors.New("saving has changed the world")
	}
	return f, err
}
