package transit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Reason says why a message or a traveller has come back.
type Reason uint8

// Why something comes back.
const (
	Gone      Reason = iota + 1 // the entity that it was for is not alive, or its world was forgotten
	Unknown                     // the other world has no mail or gate of that name
	Differs                     // the other world has something of it in another form, or lacks it
	Malformed                   // it cannot be written, or not be read in the other world
	TooLarge                    // it has more than ItemBytesMax, or is more than a traveller may be
	Full                        // outboxes were full, or the other world has no room for a traveller
	Closed                      // the roads of this world, or of the other, are closed
	Peers                       // this world knows PeersMax others
	Resolved                    // an operator has called Roads.Resolve
	Away                        // it is away already
	Taken                       // an entity of the other world has a name of the traveller, or of one with it
	reasons
)

// String returns the name.
func (r Reason) String() string {
	if r > 0 && r < reasons {
		return [...]string{"Gone", "Unknown", "Differs", "Malformed", "TooLarge", "Full", "Closed", "Peers", "Resolved", "Away", "Taken"}[r-1]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Returned is the message with a message that has come back. It is delivered to the sender; to
// shard 0, as by Message.SendShard, if the sender is dead by then, or was None. Of a Gate it is the
// message to a traveller that is back, or that could not leave.
type Returned[M any] struct {
	From handle.Handle // the sender, or the traveller
	To   Ref           // whom it was for; of a traveller, only the world
	Why  Reason
	Body M
}

// Mail is a message that can be sent to entities of other worlds. Safe for concurrent use, as a
// Message is.
type Mail[M any] struct {
	// Returned is the message of what comes back. It is registered under the name of the message,
	// and " returned".
	Returned *world.Message[Returned[M]]

	body    bodies[M]
	roads   *Roads
	name    string
	message *world.Message[M]
	size    int
	telling *world.Transaction[told[M], struct{}]
}

// told is the argument of a Tell.
type told[M any] struct {
	From handle.Handle
	To   Ref
	Body M
}

// RegisterMail lets a message travel between worlds. Both must have it under the same name, with a
// type of the same form. The body is written as package state writes it; a type that needs one has
// to have the methods MarshalBinary and UnmarshalBinary, or a codec of Options.Codecs. What is read
// once must be read again: if it is not, an item can neither come back nor be settled, and carriers
// get an error, until Resolve with Drop. Constants of enums in Options.Codecs belong to the form.
// RegisterMail panics for a message that is nil, of another world, registered before, too large or
// cannot be written. When to call it: see world.Register.
func RegisterMail[M any](r *Roads, m *world.Message[M]) *Mail[M] {
	if r == nil || m == nil {
		panic("transit: RegisterMail with nil Roads or a nil Message; pass what New and world.RegisterMessage returned")
	}
	r.engine.Delivers(m) // panics for another world's
	x := &Mail[M]{roads: r, name: engine.NameOf(m), message: m, size: int(reflect.TypeFor[Returned[M]]().Size())}
	r.engine.MustBeNamed("transit.RegisterMail", x.name)
	if r.mails[x.name] != nil {
		panic(fmt.Sprintf("transit: RegisterMail of message %q twice; once is enough", x.name))
	}
	if x.size > workMost {
		panic(fmt.Sprintf("transit: RegisterMail of message %q, whose values have %d bytes; make them smaller than %d", x.name, x.size, workMost))
	}
	x.body.init(fmt.Sprintf("RegisterMail of message %q", x.name), r.options.Codecs)
	x.Returned = world.RegisterMessage[Returned[M]](r.w, x.name+" returned")
	x.telling = world.RegisterTransaction(r.w, r.name+" tell "+x.name, x.request)
	r.mails[x.name] = x
	return x
}

// Ref returns the Ref of an entity of this world.
func (r *Roads) Ref(h handle.Handle) Ref { return RefOf(r.world, h) }

// Tell sends a message to an entity, usually of another world, from an entity of this one. It is
// delivered there once, whatever happens meanwhile, or comes back to the sender by Returned, once. In
// the order of the calls, as for Message.Send; messages to different worlds have no order. To an entity
// of this world it is delivered in the next tick, or comes back.
//
// Given a *Tx it is a part of the transaction. Given a *World, which must be idle, it is done at
// once. By other actors it is a request: what the refresh finds then, such as that outboxes have
// become full, makes the message come back. Only if the transactions of a port have made
// world.TxPortCallsMax calls in that refresh, its request is refused as theirs are, and does not
// come back: the outcome that the port can ask for is Refused then, with world.ErrTx, and nothing
// was sent.
//
// Closed roads still take messages to entities of this world.
//
// Tell returns ErrNowhere for a Ref of no world; ErrFull, ErrClosed, ErrTooLarge or ErrPeers if that
// is known at once, as it is to all but ports; and world.ErrFull if the request was not accepted. Then
// nothing was sent.
func (m *Mail[M]) Tell(by world.Actor, from handle.Handle, to Ref, body M) error {
	r := m.roads
	r.engine.MustOwn(by, r.name)
	if to.world == 0 {
		return r.engine.Refuse(by, ErrNowhere)
	}
	switch self := engine.Is(by).(type) {
	case *engine.Tx:
		return m.tell((*world.Tx)(self), from, to, body)
	case *engine.World:
		return r.now(self, "Mail.Tell", func(tx *world.Tx) error { return m.tell(tx, from, to, body) })
	case *engine.Port:
	default: // the state is the same until the refresh
		if _, err := r.engine.Acts(by, r.name, "Mail.Tell"); err != nil {
			return err
		}
		if err := r.room(to.world, 0); err != nil && to.world != r.world {
			return err
		}
	}
	return m.telling.Call(by, told[M]{from, to, body})
}

// request is what a Tell by request does at the refresh: what cannot be sent comes back.
func (m *Mail[M]) request(tx *world.Tx, x told[M]) (struct{}, error) {
	err := m.tell(tx, x.From, x.To, x.Body)
	if why := reasonOf(err); why != 0 {
		err = m.back(tx, Returned[M]{x.From, x.To, why, x.Body})
	}
	return struct{}{}, err
}

// reasonOf returns why what was refused with an error comes back, or 0.
func reasonOf(err error) Reason {
	switch err {
	case ErrFull:
		return Full
	case ErrClosed:
		return Closed
	case ErrTooLarge:
		return TooLarge
	case ErrAway:
		return Away
	case world.ErrStale:
		return Gone
	case ErrPeers:
		return Peers
	case ErrNowhere:
		return Gone
	case errBody:
		return Malformed
	}
	return 0
}

// errBody is the error for a body that a method of the user's does not write, or not read again.
var errBody = errors.New("transit: a method of the message's type does not write it, or does not read what it has written")

// tell is Tell by a transaction.
func (m *Mail[M]) tell(tx *world.Tx, from handle.Handle, to Ref, body M) error {
	r := m.roads
	if to.world == r.world {
		err := m.message.Send(tx, to.Handle(), body)
		if errors.Is(err, world.ErrStale) {
			err = m.back(tx, Returned[M]{from, to, Gone, body})
		}
		return err
	}
	text, err := m.write(from, to.Handle(), body)
	switch {
	case err != nil:
	case len(text) > ItemBytesMax && r.room(to.world, 0) != ErrClosed:
		err = ErrTooLarge
	default:
		err = r.room(to.world, len(text))
	}
	if err != nil {
		return err
	}
	return r.write(tx, "Mail.Tell", draft{kind: boarded, peer: to.world, item: text})
}

// room returns why a message of so many bytes cannot be sent to a world, or nil.
func (r *Roads) room(to World, bytes int) error {
	x, c := &r.drafts, r.find(to)
	switch {
	case r.closing || x.closing:
		return ErrClosed
	case r.hasForgotten(to) || c != nil && c.out.resolving == Forget:
		return ErrNowhere
	case r.items+x.items >= r.options.Max || r.bytes+x.bytes+bytes > r.options.MaxBytes:
		return ErrFull
	case c == nil && r.peersWith(to) > PeersMax:
		return ErrPeers
	}
	return nil
}

// peersWith returns how many other worlds there are with one that is new.
func (r *Roads) peersWith(to World) int {
	n := len(r.channels) + len(r.forgot) + len(r.drafts.peers)
	if !r.drafts.peers[to] {
		n++
	}
	return n
}

// write returns the item of a message.
func (m *Mail[M]) write(from, to handle.Handle, body M) (text string, err error) {
	r := m.roads
	buf, err := m.body.append((&heading{m.name, m.body.shape, uint64(from), uint64(to)}).append(r.building[:0]), body)
	if err != nil {
		return "", err
	}
	r.building = buf
	return string(buf), nil
}

func (m *Mail[M]) shaped() uint64   { return m.body.shape }
func (m *Mail[M]) work(*opened) int { return m.size + envelopeSize }

// deliver delivers the body of an item that has come.
func (m *Mail[M]) deliver(tx *world.Tx, x *opened) (Reason, error) {
	v, ok := m.body.read(x.body)
	if x.held = m.body.held(); !ok {
		return Malformed, nil
	}
	err := m.message.Send(tx, handle.Handle(x.to), v)
	if errors.Is(err, world.ErrStale) {
		return Gone, nil
	}
	return 0, err
}

// giveBack delivers the body of an item to its sender.
func (m *Mail[M]) giveBack(tx *world.Tx, x *opened, why Reason) error {
	v, ok := m.body.read(x.body)
	if x.held = m.body.held(); !ok { // write has tried it
		return unread(x, "message", m.name)
	}
	return m.back(tx, Returned[M]{handle.Handle(x.from), Ref{x.peer, x.to}, why, v})
}

// unread is the error about an item of an outbox that its type has read once, and reads no more.
func unread(x *opened, what, name string) error {
	return fmt.Errorf("transit: item %d to world %d, of %s %q, cannot be given back: its type has read it when it was sent, and refuses it now; let it read that again, or give up all that is under way there by Roads.Resolve with Drop", x.n, x.peer, what, name)
}

// forget has nothing to do.
func (m *Mail[M]) forget(*world.Tx, *opened) error { return nil }

// back delivers what comes back.
func (m *Mail[M]) back(tx *world.Tx, x Returned[M]) error {
	err := m.Returned.Send(tx, x.From, x)
	if errors.Is(err, world.ErrStale) {
		err = m.Returned.SendShard(tx, 0, x)
	}
	return err
}

// Waiting yields the messages that are under way to a world, with the numbers of their items: those
// after Channel.Acked. The other world may have decided them already; see Unaccepted. The world must be
// idle.
func (m *Mail[M]) Waiting(to World) iter.Seq2[uint64, Returned[M]] {
	return m.waiting("Mail.Waiting", to, func(uint64) bool { return false })
}

// Unaccepted yields the messages that are under way to another world of this process, and that it has
// not accepted: those that it has refused are among them, until they are back. So what entities of both
// worlds have, what is in these messages, and what is in those that were delivered and not read yet
// (world.Message.Waiting), is all that there is. This world must be idle; the other one may make ticks
// meanwhile, within a Cut.
func (m *Mail[M]) Unaccepted(to *Roads) iter.Seq2[uint64, Returned[M]] {
	return m.waiting("Mail.Unaccepted", to.world, m.roads.accepted(to))
}

// waiting yields the messages that are under way to a world but those that skip says; call is the name
// for messages.
func (m *Mail[M]) waiting(call string, to World, skip func(n uint64) bool) iter.Seq2[uint64, Returned[M]] {
	m.roads.engine.MustIdle(call)
	return func(yield func(uint64, Returned[M]) bool) {
		for x := range m.roads.underWay(call, to, skip) {
			if x.mail != letters(m) {
				continue
			}
			v, ok := m.body.read(x.body)
			if ok && !yield(x.n, Returned[M]{handle.Handle(x.from), Ref{to, x.to}, 0, v}) {
				return
			}
		}
	}
}

// accepted returns a function that reports whether another world has accepted an item.
func (r *Roads) accepted(to *Roads) func(n uint64) bool {
	to.changing.Lock()
	in := to.look(r.world).in
	in.refused = slices.Clone(in.refused)
	to.changing.Unlock()
	return func(n uint64) bool {
		_, refused := slices.BinarySearchFunc(in.refused, n, func(x refusal, n uint64) int { return cmp.Compare(x.n, n) })
		return in.era == r.look(to.world).out.era && n <= in.last && !refused
	}
}

// underWay yields the items that are under way to a world but for those that skip says.
func (r *Roads) underWay(call string, to World, skip func(n uint64) bool) iter.Seq[*opened] {
	return func(yield func(*opened) bool) {
		r.engine.MustIdle(call)
		c := r.look(to)
		for i := range c.out.items() {
			n := c.out.acked + uint64(i) + 1
			if x, why := r.openAt(c, n); why == 0 && (skip == nil || !skip(n)) && !yield(&x) {
				return
			}
		}
	}
}

// opened is an item that was read.
type opened struct {
	heading
	peer   World // where it goes, or comes from
	n      uint64
	first  bool // a transaction decides it before others
	mail   letters
	body   []byte
	held   int    // bytes that the body holds, once it was read
	weight uint64 // of a traveller: about what it takes of a transaction
	piece  []byte // of a traveller
}

// open reads an item. It returns why that cannot be.
func (r *Roads) open(b []byte) (x opened, why Reason) {
	most := ItemBytesMax
	switch {
	case len(b) > 0 && b[0] == mailItem:
	case len(b) > 0 && b[0] == treeItem:
		most = treeItemMost
	default:
		return x, Unknown
	}
	name, rest, ok := cutText(b[1:])
	if !ok || len(rest) < 8 || len(b) > most {
		return x, Malformed
	}
	x.shape, rest = binary.LittleEndian.Uint64(rest), rest[8:]
	second := &x.to
	if b[0] == treeItem {
		second = &x.weight
	}
	for _, to := range []*uint64{&x.from, second} {
		v, size := binary.Uvarint(rest)
		if size <= 0 {
			return x, Malformed
		}
		*to, rest = v, rest[size:]
	}
	if x.body = rest; b[0] == treeItem {
		if x.body, x.piece, ok = cutText(rest); !ok {
			return x, Malformed
		}
		x.mail = r.gates[string(name)]
	} else {
		x.mail = r.mails[string(name)]
	}
	switch {
	case x.mail == nil:
		return x, Unknown
	case x.mail.shaped() != x.shape:
		return x, Differs
	}
	return x, 0
}

// openAt reads an item of an outbox.
func (r *Roads) openAt(c *channel, n uint64) (x opened, why Reason) {
	x, why = r.open([]byte(c.out.items()[n-c.out.acked-1].bytes))
	x.peer, x.n = c.peer, n
	return x, why
}

// known returns an error for an item of an outbox that this program could not give back.
func (r *Roads) known(item string) error {
	x, why := r.open([]byte(item))
	switch {
	case why != 0 && item != "" && item[0] == treeItem:
		return fmt.Errorf("transit: %q has a traveller under way that this program cannot put back: its gate is %v; carry it with the program that sent it, or resolve the channel there", r.name, why)
	case why != 0:
		return fmt.Errorf("transit: %q has a message under way that this program cannot give back: %v; carry it with the program that sent it, or resolve the channel there", r.name, why)
	case x.piece == nil:
		return nil
	}
	piece, err := snapshot.ReadPiece(slices.Clone(x.piece))
	if err == nil {
		err = snapshot.Fits(r.w, piece, r.insertOptions())
	}
	if err != nil {
		return fmt.Errorf("transit: %q has a traveller under way that this program cannot put back; carry it with the program that sent it, or resolve the channel there: %w", r.name, err)
	}
	return nil
}

// work returns about how many bytes of a transaction an item takes.
func (x *opened) work() int {
	if x.mail == nil {
		return envelopeSize
	}
	return x.mail.work(x)
}

// appendText appends a text after its length.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// cutText reads what appendText wrote.
func cutText(b []byte) (text, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	return b[size : size+int(n)], b[size+int(n):], true
}
