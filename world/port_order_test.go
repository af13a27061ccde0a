package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// stream is one sender's requests of all kinds, numbered in the order sent, on
// entities that are moved about, and what must come of each.
type stream struct {
	*fixture
	r       *rand.Rand
	p       *world.Port
	call    *world.Func[int64]
	ran     [][]int64 // which calls ran, by life
	calls   [][]int64 // which are to run, by life
	handles []handle.Handle
	alive   []bool // when all that was sent is applied
	life    []int  // number of what the handle names
	number  int64
	told    []world.Completion
	want    []world.Outcome
	mail    []int64 // which messages are to be delivered
	met     map[string]int
}

const streamEntities = 24

func newStream(t *testing.T, seed uint64) *stream {
	s := &stream{
		fixture: newFixture(t, world.Options{Shards: 5}), r: newRand(t, seed),
		handles: make([]handle.Handle, streamEntities), alive: make([]bool, streamEntities), life: make([]int, streamEntities),
		met: map[string]int{},
	}
	s.p = s.port()
	s.call = world.RegisterFunc(s.World, "call", func(self *world.EntityContext, number int64) {
		i := s.health.Read(self).Points
		s.ran[i] = append(s.ran[i], number) // one shard at a time has the entity
	})
	return s
}

// send sends one request and notes what must come of it.
func (s *stream) send() {
	i := s.r.IntN(streamEntities)
	h, alive := s.handles[i], s.alive[i]
	want := world.Gone
	if alive {
		want = world.Applied
	}
	s.number++
	p := s.p.Notify(&s.told[len(s.want)])
	var err error
	switch kind := s.r.IntN(10); {
	case h == handle.None || !alive && s.r.IntN(3) == 0:
		s.handles[i], err = s.unit.Create(p, Unit{Health{int64(len(s.calls))}})
		s.life[i], s.alive[i] = len(s.calls), true
		s.calls, s.ran = append(s.calls, nil), append(s.ran, nil)
		want = world.Applied
	case kind < 4:
		err = world.Move(p, h, s.r.IntN(s.Shards()))
		s.met["moves"]++
	case kind < 6:
		err = s.call.Call(p, h, s.number)
		if alive {
			s.calls[s.life[i]] = append(s.calls[s.life[i]], s.number)
		}
	case kind < 8:
		err = s.hit.Send(p, h, Hit{s.number})
		if alive {
			s.mail = append(s.mail, s.number)
		}
	case kind < 9:
		err = s.hit.SendShard(p, s.r.IntN(s.Shards()), Hit{s.number})
		s.mail = append(s.mail, s.number)
		want = world.Applied
	default:
		err = p.Destroy(h)
		s.alive[i] = false
		s.met["destroys"]++
	}
	require.NoError(s.t, err)
	s.want = append(s.want, want)
}

// check compares what has happened with what must have.
func (s *stream) check(heard [][]world.Envelope[Hit]) {
	for k, want := range s.want {
		require.Equal(s.t, want, s.told[k].Outcome(), "request %d of %d", k, len(s.want))
	}
	require.Equal(s.t, s.calls, s.ran)
	var numbers []int64
	for shard, mail := range heard {
		last := int64(0)
		for _, e := range mail {
			require.Greater(s.t, e.Body.Damage, last, "shard %d hears in the order sent", shard)
			last = e.Body.Damage
			numbers = append(numbers, last)
			if at, ok := s.Owner(e.To); ok {
				require.Equal(s.t, at, shard, "the shard where the entity is now")
				s.met["followed"]++
			}
		}
	}
	require.ElementsMatch(s.t, s.mail, numbers)
	for i, h := range s.handles {
		require.Equal(s.t, s.alive[i], s.Alive(h))
	}
}

// TestPortOrder sends requests of all kinds on entities that are created, moved and
// destroyed in the same refreshes. Each is applied in its place among all that the
// sender sent, whichever shards are involved, by however many workers.
func TestPortOrder(t *testing.T) {
	for name, parallel := range parallels {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, 1)
			var e ear
			listen := s.build(e.listen)
			for range iterations(400) {
				n := 1 + s.r.IntN(1000)
				s.told, s.want = make([]world.Completion, n), s.want[:0]
				for range n {
					s.send()
				}
				x := engine.Of(s.World).BeginTick()
				x.End(parallel)
				x = engine.Of(s.World).BeginTick()
				for i, b := range listen {
					c := (*world.Context)(engine.Of(s.World).Context(i))
					(*engine.Context)(c).Acting().Start("test", b.access)
					b.run(c)
					(*engine.Context)(c).Acting().Stop()
				}
				x.End(parallel)
				s.check(e.heard)
				s.mail = s.mail[:0]
			}
			for _, what := range []string{"moves", "destroys", "followed"} {
				require.Greater(t, s.met[what], 100, fmt.Sprint(s.met))
			}
		})
	}
}
