package transit

import (
	"context"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What a carrier takes, for tests that are carriers.
type (
	Packet  = packet
	Answers = answers
	Resolve = resolve
)

// Tells is what a carrier asks before it waits.
func (p *Packet) Tells(a *Answers) bool { return p.tells(a) }

// Turning and Arriving are what a carrier asks for.
func (r *Roads) Turning() *world.Transaction[Answers, Packet]  { return r.turning }
func (r *Roads) Arriving() *world.Transaction[Packet, Answers] { return r.arriving }

// Resolving is what Resolve asks for by a port.
func (r *Roads) Resolving() *world.Transaction[Resolve, part] { return r.resolving }

// HasArrived and Turned are what a carrier waits for.
func HasArrived(r *Roads, a *world.Answer[Answers]) (Answers, error) {
	return await(context.Background(), r, a, answerEarly)
}
func Turned(r *Roads, a *world.Answer[Packet]) (Packet, error) {
	return await(context.Background(), r, a, sendEarly)
}

// SamePast reports whether the items up to the last that a world has decided are those that another
// has sent.
func SamePast(from, to *Roads) bool {
	out, in := &from.look(to.world).out, &to.look(from.world).in
	return in.last >= out.acked && in.last < out.next && out.at(in.last) == in.chain
}

// Strip takes from an entity what says that it is away, as a tool may.
func (r *Roads) Strip(h handle.Handle) { _ = r.husks.Remove(r.w, h) }

// IsClosed reports whether Close has been called.
func (r *Roads) IsClosed() bool { return r.closing }

// HasForgotten reports whether a world was forgotten.
func (r *Roads) HasForgotten(w World) bool { return r.hasForgotten(w) }

// Mistakes are those that can be planted, by name.
var Mistakes = map[string]mistake{
	"32 in is not in the snapshot":                              withoutInbox,
	"33 answers are pruned too early":                           earlyPrune,
	"34 an item is removed when sent":                           earlyForget,
	"35 n <= last is decided again":                             decideAgain,
	"37 the chain is not compared":                              chainNotCompared,
	"a sender that was restored before it settled is not found": settledNotCompared,
	"38 Carry sends beyond Durable":                             sendEarly,
	"39 acknowledged before B has it":                           answerEarly,
	"40 Tell to the dead acknowledged":                          deadAccepted,
	"36 a tree comes back under new handles":                    returnAnew,
	"41 a tree is lost with its parent":                         dieWithParent,
	"43 a world is given up before others know the final last":  doneEarly,
}

// StopClock makes the time stand still until the function that it returns is called.
func StopClock() (over func()) {
	clock = func() time.Time { return time.Unix(1, 0) }
	return func() { clock = time.Now }
}

// Plant plants a mistake until the function that it returns is called.
func Plant(m mistake) (over func()) {
	planted = m
	return func() { planted = none }
}

// AppendItem appends an item to the items of a packet.
func AppendItem(dst, item string) string { return string(appendText([]byte(dst), item)) }

// ItemOf returns the item of a message.
func ItemOf(mail string, shape, from, to uint64, body string) string {
	return string((&heading{mail, shape, from, to}).append(nil)) + body
}

// Shape returns the number of the form of a Mail.
func (m *Mail[M]) Shape() uint64 { return m.body.shape }

// Message returns the message.
func (m *Mail[M]) Message() *world.Message[M] { return m.message }

// Quiet reports that no carrier waits for an answer, and Late returns how many have given up.
func (r *Roads) Quiet() bool {
	free := r.arrivals.open.TryAcquire(arrivalsMost)
	if free {
		r.arrivals.open.Release(arrivalsMost)
	}
	return free
}
func (r *Roads) Late() int { return len(r.arrivals.late) }

// Save and Load are what a snapshot calls.
func (r *Roads) Save() []byte          { return adapter{r}.AppendSaved(nil) }
func (r *Roads) Load(src []byte) error { return adapter{r}.LoadSaved(src) }

// Refuses is what a plan calls.
func (r *Roads) Refuses(src []byte) error { return adapter{r}.Refuses(src) }

// ResolvePart is one transaction of Resolve by the idle world: the first, or the next of one that began
// with a last item. It returns how many items are left, and the last.
func (r *Roads) ResolvePart(peer World, how Resolution, last uint64) (left int, upto uint64, err error) {
	err = r.now(r.engine, "Roads.Resolve", func(tx *world.Tx) error {
		p, err := r.resolve(tx, resolve{Peer: peer, How: how, Era: 5, Last: last})
		left, upto = p.Left, p.Last
		return err
	})
	return left, upto, err
}
