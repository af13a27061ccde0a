package inputlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/marks"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// small records some ticks of one port on this goroutine.
func small(t testing.TB, ticks int) []byte {
	t.Helper()
	x := newSea(t, options(), scheduler.Options{Workers: 1})
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: codecs(), Note: []byte("sea")})
	require.NoError(t, err)
	p := x.port(t)
	for i := range ticks {
		h, err := x.unit.Create(p, Unit{Body{Small: uint8(i)}, Label{"some"}})
		require.NoError(t, err)
		require.NoError(t, x.order.Call(p, h, Order{h, 7}))
		require.NoError(t, x.note.SendShard(p, 1, Note{"for a shard"}))
		require.NoError(t, world.Move(p, h, 2))
		x.step(t)
		require.NoError(t, r.Hash(x.hasher))
	}
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Hash(x.hasher), inputlog.ErrClosed)
	return log.Bytes()
}

// playAll plays what may be no log, and returns how many ticks there were and the
// error.
func playAll(t testing.TB, log []byte) (uint64, error) {
	t.Helper()
	l, err := inputlog.Open(bytes.NewReader(log))
	if err != nil {
		return 0, err
	}
	x := newSea(t, options(), scheduler.Options{Workers: 1})
	p, err := l.Play(x.World, codecs())
	if err != nil {
		return 0, err
	}
	for p.Next() {
		x.step(t)
		if _, err := p.Verify(x.hasher); err != nil {
			return p.Ticks(), err
		}
	}
	return p.Ticks(), p.Err()
}

// TestTruncated cuts a log anywhere: all ticks that are whole are played, and the
// error says where it ends.
func TestTruncated(t *testing.T) {
	log, last := small(t, 3), uint64(0)
	for n := 0; n < len(log); n += 1 + n/iterations(60) {
		ticks, err := playAll(t, log[:n])
		require.ErrorIs(t, err, inputlog.ErrTruncated, "%d bytes", n)
		require.GreaterOrEqual(t, ticks, last)
		last = ticks
	}
	ticks, err := playAll(t, log)
	require.NoError(t, err)
	require.EqualValues(t, 3, ticks)
	_, err = playAll(t, log[:len(log)-14])
	require.ErrorContains(t, err, "without its end mark")
}

// TestAltered changes a byte anywhere: no log with one is played to its end.
func TestAltered(t *testing.T) {
	log := small(t, 2)
	for i := 0; i < len(log); i += 1 + i/iterations(60) {
		log[i] ^= 0x10
		_, err := playAll(t, log)
		known := errors.Is(err, inputlog.ErrAltered) || errors.Is(err, inputlog.ErrTruncated) || errors.Is(err, inputlog.ErrNoLog) || errors.Is(err, inputlog.ErrVersion)
		require.True(t, known, "byte %d: %v", i, err)
		log[i] ^= 0x10
	}
	log[7]++
	_, err := playAll(t, log)
	require.ErrorIs(t, err, inputlog.ErrVersion)
	require.ErrorContains(t, err, "12, want 11; play it with the build of the program that wrote it")
}

// TestOtherWorld checks what is said of worlds that are not as the recorded one.
func TestOtherWorld(t *testing.T) {
	log := small(t, 1)
	for want, make := range map[string]func() *world.World{
		"Shards is 3 in the log, Shards is 4 here": func() *world.World {
			o := options()
			o.Shards = 4
			return newSea(t, o, scheduler.Options{}).World
		},
		"Seed is 5 in the log, Seed is 6 here": func() *world.World {
			o := options()
			o.Seed = 6
			return newSea(t, o, scheduler.Options{}).World
		},
		"the log begins at tick 0, the world is at 1; play it to": func() *world.World {
			x := newSea(t, options(), scheduler.Options{})
			x.step(t)
			return x.World
		},
		`message "note", extension "kin" registered there alone`: func() *world.World {
			w := world.MustNew(options())
			world.Register[Extra](w, "extra")
			return w
		},
	} {
		l, err := inputlog.Open(bytes.NewReader(log))
		require.NoError(t, err)
		require.Equal(t, "sea", string(l.Note()))
		p, err := l.Play(make(), codecs())
		if err == nil {
			require.False(t, p.Next())
			err = p.Err()
		}
		require.ErrorIs(t, err, inputlog.ErrOtherWorld)
		require.ErrorContains(t, err, want)
	}
}

// TestNoCodec checks that what cannot be recorded is refused before the first tick, by
// name.
func TestNoCodec(t *testing.T) {
	w := world.MustNew(world.Options{})
	type list struct{ Items []func() }
	world.Register[list](w, "list")
	_, err := inputlog.NewRecorder(w, new(bytes.Buffer), inputlog.Options{})
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, `set of component "list" cannot be recorded`)
	require.ErrorContains(t, err, "inputlog_test.list.Items[0] is a function; register a state.Codec[[]func()], or one of a type that has it: state.Codec[inputlog_test.list]")
	half := new(state.Codecs)
	state.Register(half, state.Codec[list]{Append: func(dst []byte, _ *list) []byte { return dst }})
	_, err = inputlog.NewRecorder(w, new(bytes.Buffer), inputlog.Options{Codecs: half})
	require.ErrorContains(t, err, "the codec of inputlog_test.list, a inputlog_test.list, has no Read")

	later := world.MustNew(world.Options{})
	r, err := inputlog.NewRecorder(later, new(bytes.Buffer), inputlog.Options{})
	require.NoError(t, err)
	if refuses(t, func() { world.RegisterMessage[list](later, "note") }) {
		require.NoError(t, r.Close())
		return
	}
	world.RegisterMessage[list](later, "note")
	later.Refresh()
	require.ErrorContains(t, r.Err(), `tick 0: inputlog: message "note" cannot be recorded`)
	require.ErrorIs(t, r.Close(), state.ErrNoCodec)
}

// TestDiffers checks that the first tick and section in which worlds differ are named.
func TestDiffers(t *testing.T) {
	l, err := inputlog.Open(bytes.NewReader(small(t, 3)))
	require.NoError(t, err)
	x := newSea(t, options(), scheduler.Options{})
	p, err := l.Play(x.World, codecs())
	require.NoError(t, err)
	require.True(t, p.Next())
	x.step(t)
	_, err = p.Verify(x.hasher)
	require.NoError(t, err)
	require.True(t, p.Next())
	x.step(t)
	alter := func() { world.Write[Body](x.World).Get(anyone(x)).Sum++ }
	if refuses(t, alter) { // in the replay of sealed ticks, too
		engine.Of(x.World).Lenient()
	}
	alter()
	_, err = p.Verify(x.hasher)
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorContains(t, err, `before tick 2, first in shard 0: component "body"`)
}

func anyone(x *sea) handle.Handle {
	for _, t := range engine.Of(x.World).Survey().Shard(0).Tables() {
		if t.Rows() > 0 {
			return t.Chunks()[0].Handles()[0]
		}
	}
	return handle.None
}

// TestPortsWhileFed checks that there are ports or a log, not both.
func TestPortsWhileFed(t *testing.T) {
	log := small(t, 1)
	x := newSea(t, options(), scheduler.Options{Workers: 1})
	open := x.port(t)
	l, err := inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	_, err = l.Play(x.World, codecs())
	require.ErrorContains(t, err, "ports and a replay of inputs at the same time")
	open.Close()

	x = newSea(t, options(), scheduler.Options{Workers: 1})
	l, err = inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	p, err := l.Play(x.World, codecs())
	require.NoError(t, err)
	_, err = x.OpenPort()
	require.ErrorContains(t, err, "ports and a replay of inputs at the same time")
	p.Close()
	x.port(t)
}

// TestWriteFails checks that a log that cannot be written ends, and says why.
func TestWriteFails(t *testing.T) {
	w := world.MustNew(world.Options{})
	full := &fullDisk{left: 2000}
	r, err := inputlog.NewRecorder(w, full, inputlog.Options{})
	require.NoError(t, err)
	for range 200 {
		if w.Err() == nil {
			w.Refresh()
		}
	}
	require.Equal(t, inputlog.Sealed, errors.Is(w.Err(), errFull), "nobody sees what the log lacks")
	require.ErrorIs(t, r.Err(), errFull)
	require.ErrorIs(t, r.Close(), errFull)
}

var errFull = errors.New("disk full")

type fullDisk struct{ left int }

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// FuzzPlay plays logs whose checksums are right whatever else is in them: they are
// refused, or played; nothing panics.
func FuzzPlay(f *testing.F) {
	log := small(f, 2)
	f.Add(log)
	f.Add(log[:100])
	f.Fuzz(func(t *testing.T, log []byte) { _, _ = playAll(t, summed(bytes.Clone(log))) })
}

// TestMutated is FuzzPlay by chance, in what the ticks' records hold.
func TestMutated(t *testing.T) {
	log := small(t, 2)
	first := 8
	for at := first; ; at += 13 + int(binary.LittleEndian.Uint32(log[at+1:])) {
		if log[at] == 'T' {
			first = at
			break
		}
	}
	seed := seed.Of(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	played := 0
	for range iterations(1500) {
		b := bytes.Clone(log)
		for range 1 + dice.IntN(3) {
			b[first+dice.IntN(len(b)-first)] = byte(dice.Uint32())
		}
		if _, err := playAll(t, summed(b)); err == nil {
			played++
		}
	}
	t.Logf("%d played to their end", played)
}

// summed makes the checksums of a log right.
func summed(log []byte) []byte {
	chain := uint64(0)
	for at := 8; at+5 <= len(log); {
		end := at + 5 + int(binary.LittleEndian.Uint32(log[at+1:]))
		if end < at || end+8 > len(log) {
			break
		}
		chain = xxh3.HashSeed(log[at:end], chain)
		binary.LittleEndian.PutUint64(log[end:], chain)
		at = end + 8
	}
	return log
}

// nowhere is where benchmarks write.
type nowhere struct{ n int64 }

func (w *nowhere) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	return len(b), nil
}

// BenchmarkRecord measures a refresh of requests that set a component of 32 bytes, with
// and without a Recorder.
func BenchmarkRecord(b *testing.B) {
	const n = 4096
	for _, recorded := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[recorded], func(b *testing.B) {
			w, p, set := setter(b, n)
			out := new(nowhere)
			if recorded {
				_, err := inputlog.NewRecorder(w, out, inputlog.Options{})
				require.NoError(b, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				set()
				w.Refresh()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/request")
			b.ReportMetric(float64(out.n)/float64(b.N)/n, "B/request")
			p.Close()
		})
	}
}

// setter makes a world, and a function that sends n requests.
func setter(b testing.TB, n int) (*world.World, *world.Port, func()) {
	w := world.MustNew(world.Options{Shards: 2, QueueRequests: n})
	body := world.Register[Body](w, "body")
	hs, err := world.NewBundle[Plain](w).AppendN(nil, w, n, nil)
	require.NoError(b, err)
	p, err := w.OpenPort()
	require.NoError(b, err)
	return w, p, func() {
		for i, h := range hs {
			if err := body.Set(p, h, Body{Sum: uint64(i)}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestRecordAllocates checks that recording allocates nothing in steady state.
func TestRecordAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	w, _, set := setter(t, 100)
	world.RegisterResource(w, "plain", Body{Sum: 1})
	world.RegisterResource(w, "list", []uint64{1, 2})
	world.RegisterAccumulator(w, "sum", func(total, part *int) { *total += *part })
	_, err := inputlog.NewRecorder(w, new(nowhere), inputlog.Options{})
	require.NoError(t, err)
	once := func() {
		set()
		w.Refresh()
	}
	for range 20 {
		once()
	}
	require.Zero(t, testing.AllocsPerRun(50, once))
}

// TestCodecPanics has a codec panic, or end its goroutine, while a tick is recorded: the tick
// is completed, the log ends before it, and the world goes on.
func TestCodecPanics(t *testing.T) {
	for how, fail := range map[string]func(){"panics": func() { panic(errFull) }, "exits": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			w := world.MustNew(world.Options{})
			note := world.RegisterMessage[Note](w, "note")
			failing := new(state.Codecs)
			state.Register(failing, state.Codec[Note]{
				Append: func(dst []byte, v *Note) []byte {
					if v.Text == "fail" {
						fail()
					}
					return append(dst, v.Text...)
				},
				Read: func(src []byte, v *Note) error { v.Text = string(src); return nil },
			})
			var log bytes.Buffer
			r, err := inputlog.NewRecorder(w, &log, inputlog.Options{Codecs: failing})
			require.NoError(t, err)
			p, err := w.OpenPort()
			require.NoError(t, err)
			for _, text := range []string{"one", "fail", "three"} {
				var done world.Completion
				require.NoError(t, note.SendShard(p.Notify(&done), 0, Note{text}))
				w.Refresh()
				if inputlog.Sealed && text == "fail" {
					require.Equal(t, world.Failed, done.Outcome())
					continue
				}
				require.Equal(t, world.Applied, done.Outcome())
				if inputlog.Sealed {
					continue
				}
				require.Equal(t, text == "fail", w.Failure() != nil)
			}
			if inputlog.Sealed { // the request fails, and the log goes on
				require.NoError(t, r.Close())
				return
			}
			require.ErrorContains(t, r.Err(), "inputlog: recording ends: world: the recorder panicked in Requests, at the end of tick 1")
			require.Equal(t, how == "panics", errors.Is(r.Err(), errFull))
			again, err := inputlog.NewRecorder(w, new(bytes.Buffer), inputlog.Options{Codecs: codecs()})
			require.NoError(t, err, "the world is recorded by nobody")
			require.Equal(t, r.Err(), r.Close())
			w.Refresh()
			w.Close()
			require.NoError(t, again.Close(), "the end mark is written when the world is closed")
		})
	}
}

// TestRecorderTwice refuses a second Recorder, which writes nothing.
func TestRecorderTwice(t *testing.T) {
	w := world.MustNew(world.Options{})
	r, err := inputlog.NewRecorder(w, new(bytes.Buffer), inputlog.Options{})
	require.NoError(t, err)
	var log bytes.Buffer
	_, err = inputlog.NewRecorder(w, &log, inputlog.Options{})
	require.ErrorContains(t, err, "the world's inputs are recorded already")
	require.Zero(t, log.Len())
	require.NoError(t, r.Close())

	_, err = inputlog.NewRecorder(w, &fullDisk{}, inputlog.Options{})
	require.ErrorIs(t, err, errFull)
	_, err = inputlog.NewRecorder(w, &log, inputlog.Options{})
	require.NoError(t, err, "one that failed hinders nobody")
}

// TestRecordStrings records and replays texts without a codec: a component and names.
func TestRecordStrings(t *testing.T) {
	type text string
	type sign struct {
		Text  text
		Where int32
	}
	type signs struct{ Sign sign }
	build := func() (*world.World, *world.Bundle[signs], *names.Names[string]) {
		w := world.MustNew(world.Options{Shards: 2})
		world.Register[sign](w, "sign")
		return w, world.NewBundle[signs](w), names.New[string](w, "name", names.Options{})
	}
	w, b, called := build()
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(w, &log, inputlog.Options{})
	require.NoError(t, err)
	p, err := w.OpenPort()
	require.NoError(t, err)
	h, err := b.Create(p, signs{sign{"no entry", 7}})
	require.NoError(t, err)
	require.NoError(t, called.Bind(p, h, "the sign"))
	w.Refresh()
	require.NoError(t, r.Close())

	again, _, called := build()
	l, err := inputlog.Open(&log)
	require.NoError(t, err)
	player, err := l.Play(again, nil)
	require.NoError(t, err)
	require.True(t, player.Next())
	again.Refresh()
	found, ok := called.Lookup("the sign")
	require.Equal(t, []any{h, true}, []any{found, ok})
	require.Equal(t, sign{"no entry", 7}, *world.Read[sign](again).Get(h))
}

// TestOnEnd tells once that recording has ended before Close.
func TestOnEnd(t *testing.T) {
	x := newSea(t, options(), scheduler.Options{})
	var told []error
	r, err := inputlog.NewRecorder(x.World, io.Discard, inputlog.Options{Codecs: codecs(), OnEnd: func(err error) { told = append(told, err) }})
	require.NoError(t, err)
	x.step(t)
	require.Empty(t, told)
	later := func() { world.RegisterFunc(x.World, "closure", func(*world.EntityContext, func()) {}) }
	if refuses(t, later) {
		x.step(t)
		require.Empty(t, told)
		require.NoError(t, r.Close())
		return
	}
	later()
	x.step(t)
	x.step(t)
	require.Equal(t, []error{r.Err()}, told)
	require.ErrorContains(t, r.Err(), `"closure"`)
	require.Equal(t, r.Err(), r.Close())
}

// TestMarks passes over marks wherever a record may begin, and finds those that were altered.
func TestMarks(t *testing.T) {
	log := small(t, 3)
	var marked []byte
	at, records := 8, 0
	for marked = append(marked, log[:at]...); at < len(log); records++ {
		marked = marks.Append(marked, uint64(records), 7)
		next := at + 13 + int(binary.LittleEndian.Uint32(log[at+1:]))
		marked, at = append(marked, log[at:next]...), next
	}
	require.Greater(t, records, 4)
	want, err := playAll(t, log)
	require.NoError(t, err)
	got, err := playAll(t, marks.Append(marked, 0, 8))
	require.NoError(t, err)
	require.Equal(t, want, got)
	apart := 3
	if check.Enabled { // each world takes long to make
		apart = 29
	}
	for i := 0; i < len(marked); i += apart {
		marked[i] ^= 0x10
		_, err := playAll(t, marked)
		require.Error(t, err, "byte %d", i)
		marked[i] ^= 0x10
	}
}
