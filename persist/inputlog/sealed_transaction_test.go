package inputlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Bid is the argument of a transaction. Its codec panics for "bad".
type Bid struct {
	On  handle.Handle
	N   uint64
	How string
}

var bidCodec = state.Codec[Bid]{
	Append: func(dst []byte, v *Bid) []byte {
		if v.How == "bad" {
			panic("the codec does not like it")
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.On))
		return append(binary.LittleEndian.AppendUint64(dst, v.N), v.How...)
	},
	Read: func(src []byte, v *Bid) error {
		*v = Bid{handle.Handle(binary.LittleEndian.Uint64(src)), binary.LittleEndian.Uint64(src[8:]), string(src[16:])}
		return nil
	},
}

var (
	errNoDeal = errors.New("no deal")
	manners   = []string{"", "fails", "panics", "within", "fails within", "creates"}
)

// market is a harbor whose systems and ports bid.
type market struct {
	*harbor
	bids *world.Transaction[Bid, uint64]
	ran  atomic.Int32
}

func newMarket(workers int) *market {
	x := &market{harbor: newHarbor(workers)}
	x.bids = world.RegisterTransaction(x.World, "bid", x.bid)
	x.s.MustAdd("bid", func(b *world.Build) func(*world.Context) {
		all := b.Query(world.Read[Body](b))
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				for i, h := range ch.Handles() {
					n := c.Tick() + uint64(i)
					_ = x.bids.Call(c, Bid{h, n, manners[n%uint64(len(manners))]})
				}
			}
		}
	})
	return x
}

func (x *market) bid(tx *world.Tx, b Bid) (uint64, error) {
	x.ran.Add(1)
	body := x.body.Edit(tx, b.On)
	if body == nil {
		return 0, world.ErrStale
	}
	body.Sum += b.N
	switch b.How {
	case "fails":
		return 0, errNoDeal
	case "panics":
		panic(errNoDeal)
	case "within":
		return x.bids.Run(tx, Bid{b.On, 2 * b.N, ""})
	case "fails within":
		_, _ = x.bids.Run(tx, Bid{b.On, b.N, "fails"})
	case "creates":
		if b.N%5 == 0 {
			_, err := x.all.Create(tx, tagged{Body{Sum: tx.Rand().Uint64()}, Tag{"made"}})
			return body.Sum, err
		}
	}
	return body.Sum, nil
}

// TestSealedTransactions has ports and systems ask for transactions of every kind in sealed ticks:
// nobody is told before Commit has returned, and the replay gives the same world.
func TestSealedTransactions(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		x := newMarket(workers)
		var log bytes.Buffer
		var answers [8]world.Answer[uint64]
		asked := append(manners[:len(manners):len(manners)], "bad", "")
		r := x.record(t, &log, func() error {
			for i := range answers {
				require.Equal(t, world.Undecided, answers[i].Outcome(), "before the log has it")
			}
			return nil
		}, func(error) {})
		p, err := x.OpenPort()
		require.NoError(t, err)
		var hs []handle.Handle
		for i := range 5 {
			h, err := x.all.Create(p, tagged{Body{Small: uint8(i)}, Tag{"one"}})
			require.NoError(t, err)
			hs = append(hs, h)
		}
		for tick := range uint64(9) {
			for i, how := range asked {
				b := Bid{hs[i%len(hs)], tick, how}
				if i == len(asked)-1 {
					b.On = handle.None
				}
				require.NoError(t, x.bids.Send(p, b, &answers[i]))
			}
			require.NoError(t, x.step(t))
			for i, want := range []world.Outcome{
				world.Applied, world.Refused, world.Failed, world.Applied, world.Refused, world.Applied, world.Failed, world.Refused,
			} {
				require.Equal(t, want, answers[i].Outcome(), "%q", asked[i])
			}
			_, err := answers[1].Get(t.Context())
			require.ErrorIs(t, err, errNoDeal)
			_, err = answers[7].Get(t.Context())
			require.ErrorIs(t, err, world.ErrStale)
			for _, i := range []int{2, 6} {
				_, err = answers[i].Get(t.Context())
				require.ErrorIs(t, err, world.ErrFailed)
			}
			require.NoError(t, r.Hash(x.hasher))
		}
		require.NoError(t, r.Close())
		for _, others := range []int{1, 2, 5} {
			y := newMarket(others)
			y.replay(t, log.Bytes())
			require.Equal(t, x.ran.Load(), y.ran.Load())
			require.Equal(t, x.Count(), y.Count())
		}
		require.Greater(t, x.Count(), len(hs))
	}
}

// TestSealedAsk waits for the result of a transaction: the log has it by then.
func TestSealedAsk(t *testing.T) {
	x := newMarket(2)
	h, err := x.all.Create(x.World, tagged{})
	require.NoError(t, err)
	var log bytes.Buffer
	var committed atomic.Uint64
	r := x.record(t, &log, func() error {
		time.Sleep(time.Millisecond)
		committed.Store(x.Tick() + 1)
		return nil
	}, nil)
	p, err := x.OpenPort()
	require.NoError(t, err)
	type result struct {
		ticks uint64
		err   error
	}
	results := make(chan result)
	for n := range uint64(5) {
		before := x.Tick()
		go func() {
			_, err := x.bids.Ask(t.Context(), p, Bid{h, n, "within"})
			results <- result{committed.Load(), err}
		}()
		for done := false; !done; {
			require.NoError(t, x.step(t))
			select {
			case got := <-results:
				require.NoError(t, got.err)
				require.Greater(t, got.ticks, before)
				done = true
			default:
			}
		}
	}
	require.NoError(t, r.Close())
}

// TestSealedTransactionsLost lets the log fail behind the seal: who asked for what was sealed does not
// know, what came later is not done, and no transaction has run.
func TestSealedTransactionsLost(t *testing.T) {
	x := newMarket(2)
	h, err := x.all.Create(x.World, tagged{})
	require.NoError(t, err)
	var log bytes.Buffer
	full, broken := errors.New("the disk is full"), false
	var sealed, later world.Answer[uint64]
	r := x.record(t, &log, func() error {
		if !broken {
			return nil
		}
		require.Equal(t, world.Undecided, sealed.Outcome())
		return full
	}, nil)
	require.NoError(t, x.step(t))
	ran := x.ran.Load()
	require.NotZero(t, ran)
	p, err := x.OpenPort()
	require.NoError(t, err)
	require.NoError(t, x.bids.Send(p, Bid{h, 1, "creates"}, &sealed))
	x.during = func(uint64) { require.NoError(t, x.bids.Send(p, Bid{h, 2, ""}, &later)) }
	broken = true
	require.ErrorIs(t, x.step(t), full)
	_, err = sealed.Get(t.Context())
	require.ErrorIs(t, err, world.ErrUnknown)
	require.NotErrorIs(t, err, world.ErrClosed)
	require.Equal(t, world.Unknown, sealed.Outcome())
	_, err = later.Get(t.Context())
	require.ErrorIs(t, err, world.ErrClosed)
	require.Equal(t, world.Closed, later.Outcome())
	_, err = x.bids.Ask(t.Context(), p, Bid{h, 3, ""})
	require.ErrorIs(t, err, world.ErrClosed)
	require.Equal(t, ran, x.ran.Load())
	require.ErrorIs(t, r.Close(), full)
}
