package transit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Gate is a way to send entities to other worlds, with something that they say when they arrive. Safe
// for concurrent use, as a Message is.
type Gate[G any] struct {
	// Arrived is the message to what has come through the gate, in this world; it is registered under
	// the name of the gate, and " arrived".
	Arrived *world.Message[Arrived[G]]
	// Returned is the message to what has come back to this world, which it had left. It is registered
	// under the name of the gate, and " returned".
	Returned *world.Message[Returned[G]]

	body    bodies[G]
	roads   *Roads
	name    string
	sending *world.Transaction[sent[G], struct{}]
}

// Arrived is the message to an entity that has come from another world, in the tick after that.
type Arrived[G any] struct {
	From Ref // what it was there
	Body G
}

// Traveller is an entity that is under way, with all that goes along.
type Traveller[G any] struct {
	Root  handle.Handle // in the world that it has left
	Body  G
	Piece *snapshot.Piece
}

// sent is the argument of a Send.
type sent[G any] struct {
	Root handle.Handle
	To   World
	Body G
}

// RegisterGate makes a gate for entities that leave this world or come to it. Both worlds must have it
// under the same name, with a type of the same form, which is written as the type of RegisterMail is.
// The world must have all relations of Options.Relations by then. RegisterGate panics for Roads that
// are nil, for a name that is empty or taken, and for a type that cannot be written or that another
// gate or mail has. When to call it: see world.Register.
func RegisterGate[G any](r *Roads, name string) *Gate[G] {
	if r == nil {
		panic("transit: RegisterGate with nil Roads; pass what New returned")
	}
	r.engine.MustBeNamed("transit.RegisterGate", name)
	if name == "" || r.gates[name] != nil {
		panic(fmt.Sprintf("transit: RegisterGate with the name %q, which is empty or taken; pass another", name))
	}
	r.mustHaveRelations()
	g := &Gate[G]{roads: r, name: name}
	g.body.init(fmt.Sprintf("RegisterGate of %q", name), r.options.Codecs)
	g.Returned = world.RegisterMessage[Returned[G]](r.w, name+" returned")
	g.Arrived = world.RegisterMessage[Arrived[G]](r.w, name+" arrived")
	r.openGates()
	g.sending = world.RegisterTransaction(r.w, r.name+" send "+name, g.request)
	engine.ApplyLast(g.sending)
	r.gates[name] = g
	return g
}

// Send sends an entity to another world, with all below it in the relations of Options.Relations,
// at any depth: with components, flags, places in relations, names, and timers with the ticks that
// are left. It arrives there once, whatever happens meanwhile, with new handles and without a
// parent, and is told so by Arrived; or it comes back, under the same handles and where it was, and
// is told so by Returned. In what travels, a handle of something that goes along becomes its new
// one, and any other becomes None; a Ref stays as it is. What is away already, or dies in this
// tick, does not go along, and nor does what is below it. An ask of package async stays, and its
// answer finds nobody.
//
// Until the other world has decided, the entity is away: see Roads.Away. It is alive, without
// components, and has its name and its places in relations. Nobody can destroy it: a request to do
// so is Refused, a parent's death makes it a root, and World.Clear leaves it. What is put below it
// meanwhile does not follow: when the traveller has arrived, it is left as by a parent's death, but
// lives. A component that is added meanwhile stays beside those that come back, or goes when it has
// arrived.
//
// Given a *Tx it is a part of the transaction. Given a *World, which must be idle, it is done at
// once. By other actors it is a request that the refresh applies when all others are done, so that
// what is put aboard in the same tick goes along. If it cannot go then, it stays, and is told so by
// Returned: with the reason Away, if it is away already, and in shard 0 with the reason Gone, if it
// is dead.
//
// Send returns ErrAway, world.ErrStale, ErrNowhere for this world or 0, ErrFull, also while
// Roads.Resolve is at work on that channel, ErrClosed, ErrPeers, and ErrTooLarge for more than
// EntitiesMax entities or TreeBytesMax bytes, all but ErrNowhere only if that is known at once;
// errors of snapshot.Extract, as for a type without a codec; and world.ErrFull if the request was
// not accepted. Then nothing was sent.
func (g *Gate[G]) Send(by world.Actor, root handle.Handle, to World, body G) error {
	r := g.roads
	r.engine.MustOwn(by, r.name)
	if to == 0 || to == r.world {
		return r.engine.Refuse(by, ErrNowhere)
	}
	switch self := engine.Is(by).(type) {
	case *engine.Tx:
		return g.send((*world.Tx)(self), root, to, body)
	case *engine.World:
		return r.now(self, "Gate.Send", func(tx *world.Tx) error { return g.send(tx, root, to, body) })
	case *engine.Port:
	default: // the state is the same until the refresh
		if _, err := r.engine.Acts(by, r.name, "Gate.Send"); err != nil {
			return err
		}
		if err := r.room(to, 0); err != nil {
			return err
		}
		if r.awayAt(root) != nil {
			return ErrAway
		}
	}
	return g.sending.Call(by, sent[G]{root, to, body})
}

// request is what a Send by request does at the refresh: what cannot go is told so.
func (g *Gate[G]) request(tx *world.Tx, x sent[G]) (struct{}, error) {
	err := g.send(tx, x.Root, x.To, x.Body)
	why := cmp.Or(reasonOf(err), Malformed)
	switch {
	case err == nil, errors.Is(err, world.ErrTx):
		return struct{}{}, err
	case errors.Is(err, world.ErrChunks):
		why = Full
	}
	return struct{}{}, g.back(tx, x.Root, Returned[G]{x.Root, Ref{world: x.To}, why, x.Body})
}

// back tells an entity that it is back; shard 0, if it is dead by then.
func (g *Gate[G]) back(tx *world.Tx, root handle.Handle, x Returned[G]) error {
	err := g.Returned.Send(tx, root, x)
	if errors.Is(err, world.ErrStale) {
		err = g.Returned.SendShard(tx, 0, x)
	}
	return err
}

// send sends an entity by a transaction. After an error nothing was written, or the transaction has
// failed.
func (g *Gate[G]) send(tx *world.Tx, root handle.Handle, to World, body G) error {
	r, t := g.roads, (*engine.Tx)(tx)
	t.Must("Gate.Send")
	if err := r.room(to, 0); err != nil {
		return err
	}
	switch {
	case r.look(to).out.resolving != 0: // items get new numbers then, which what is away would have to know
		return ErrFull
	case !t.Living(root):
		return world.ErrStale
	case r.awayIn(tx, root) != nil:
		return ErrAway
	}
	all, work, err := r.along(t, root)
	if err != nil {
		return err
	}
	if work > treeWork {
		return ErrTooLarge
	}
	text, err := g.body.append(nil, body)
	switch {
	case err != nil:
		return err
	case len(text) > ItemBytesMax:
		return ErrTooLarge
	}
	left := r.options.MaxBytes - r.bytes - r.drafts.bytes - len(text) - headMost - len(g.name)
	before := t.Used()
	piece, err := snapshot.Extract(tx, snapshot.ExtractOptions{
		Codecs: r.options.Codecs, Relations: []string{}, Take: true, BytesMax: max(1, min(left, TreeBytesMax)),
	}, all...)
	if errors.Is(err, snapshot.ErrTooLarge) {
		if err = ErrTooLarge; left < TreeBytesMax {
			err = ErrFull
		}
	}
	if err != nil {
		return err
	}
	work = max(work, t.Used()-before) // it takes as much when it comes back
	for _, h := range all {
		if err := r.husks.Add(tx, h, away{to, uint64(root), uint64(h)}); err != nil {
			t.Fail(err)
			return err
		}
	}
	head := treeHeading{g.name, g.body.shape, uint64(root), uint64(work + len(piece.Bytes()))}
	item := string(append(appendText(head.append(r.building[:0]), string(text)), piece.Bytes()...))
	return r.write(tx, "Gate.Send", draft{kind: boarded, peer: to, item: item})
}

func (g *Gate[G]) shaped() uint64 { return g.body.shape }

// work returns about how many bytes of a transaction the item takes.
func (g *Gate[G]) work(x *opened) int {
	return int(min(x.weight, treeWork)) + 2*len(x.piece) + envelopeSize
}

// deliver inserts what has come. The item of another process is trusted in nothing.
func (g *Gate[G]) deliver(tx *world.Tx, x *opened) (Reason, error) {
	r := g.roads
	body, ok := g.body.read(x.body)
	if x.held = g.body.held(); !ok {
		return Malformed, nil
	}
	piece, err := snapshot.ReadPiece(slices.Clone(x.piece))
	if err != nil {
		return Malformed, nil
	}
	if piece.Len() > EntitiesMax {
		return TooLarge, nil
	}
	o := r.insertOptions()
	if o.BytesMax = engine.TxBytesMax / 2; !x.first {
		o.BytesMax = int64(g.work(x))
	}
	o.BytesMax += heldEach * int64(len(x.piece))
	if !has(piece, handle.Handle(x.from)) {
		return Malformed, nil
	}
	made, err := insertAside(tx, piece, o)
	switch {
	case err == nil:
	case errors.Is(err, world.ErrTx), (*engine.Tx)(tx).Fault() != nil:
		return 0, err
	case errors.Is(err, snapshot.ErrTooLarge) && !x.first:
		return 0, errLater
	default:
		return refusalOf(err), nil
	}
	now := made.Handle(handle.Handle(x.from))
	return 0, g.Arrived.Send(tx, now, Arrived[G]{Ref{x.peer, x.from}, body})
}

// has reports whether an entity is in a piece.
func has(piece *snapshot.Piece, h handle.Handle) bool {
	for x := range piece.Handles() {
		if x == h {
			return true
		}
	}
	return false
}

// insertAside inserts a piece of another world, whose values may make methods of the user's panic. They
// read all of it before anything is inserted.
func insertAside(tx *world.Tx, piece *snapshot.Piece, o snapshot.InsertOptions) (made *snapshot.Inserted, err error) {
	t := (*engine.Tx)(tx)
	before := t.Taken()
	if err = aside.Do("a codec", func() error {
		made, err = snapshot.Insert(tx, piece, o)
		return err
	}); errors.As(err, new(*aside.Error)) {
		if t.Taken() != before {
			t.Fail(err)
		}
		err = fmt.Errorf("%w: %w", snapshot.ErrAltered, err)
	}
	return made, err
}

// errLater says that an item is to be decided by another transaction.
var errLater = errors.New("transit: there is no room for this in the transaction")

// heldEach is how much memory the slices, maps and pointers of a traveller that comes may take for each
// byte of its piece.
const heldEach = 32

// insertOptions are the options for pieces of this world. It must be able to put them back, so they may
// take what memory they took.
func (r *Roads) insertOptions() snapshot.InsertOptions {
	return snapshot.InsertOptions{Codecs: r.options.Codecs, Changes: r.options.Changes}
}

// refusalOf returns why a piece was refused.
func refusalOf(err error) Reason {
	switch {
	case errors.Is(err, names.ErrTaken):
		return Taken
	case errors.Is(err, snapshot.ErrOtherWorld):
		return Differs
	case errors.Is(err, snapshot.ErrTooLarge):
		return TooLarge
	case errors.Is(err, snapshot.ErrAltered):
		return Malformed
	}
	return Full
}

// giveBack puts back what was refused, as it was.
func (g *Gate[G]) giveBack(tx *world.Tx, x *opened, why Reason) error {
	r, root := g.roads, handle.Handle(x.from)
	body, ok := g.body.read(x.body)
	x.held = g.body.held()
	piece, err := snapshot.ReadPiece(slices.Clone(x.piece))
	if !ok || err != nil { // send has tried it
		return unread(x, "gate", g.name)
	}
	if r.unmark(piece); r.whole(tx, x, piece) && planted != returnAnew {
		err = r.putBack(tx, piece)
	} else { // somebody has destroyed rows in a way around transit
		o := r.insertOptions()
		o.WithoutNames = true
		var made *snapshot.Inserted
		if made, err = snapshot.Insert(tx, piece, o); err == nil {
			root, err = made.Handle(root), g.forget(tx, x)
		}
	}
	if err != nil {
		return err
	}
	return g.back(tx, root, Returned[G]{handle.Handle(x.from), Ref{world: x.peer}, why, body})
}

// putBack makes entities that are away what they were. After an error about room nothing was done.
func (r *Roads) putBack(tx *world.Tx, piece *snapshot.Piece) error {
	if err := snapshot.PutBack(tx, piece, r.insertOptions()); err != nil {
		return err
	}
	for h := range piece.Handles() {
		if err := r.husks.Remove(tx, h); err != nil {
			return err
		}
	}
	return nil
}

// unmark removes the marks of entities that are away. Until now nobody may have destroyed them, and the
// refresh would spare them later; then they would be back.
func (r *Roads) unmark(piece *snapshot.Piece) {
	for h := range piece.Handles() {
		if r.awayAt(h) != nil {
			r.engine.Space().Spare(r.engine.Space().Locate(h))
		}
	}
}

// whole reports whether all entities of an item are here, and away by it.
func (r *Roads) whole(tx *world.Tx, x *opened, piece *snapshot.Piece) bool {
	for h := range piece.Handles() {
		if !r.isOf(tx, h, x) {
			return false
		}
	}
	return true
}

// isOf reports whether an entity is away by an item.
func (r *Roads) isOf(tx *world.Tx, h handle.Handle, x *opened) bool {
	a := r.awayIn(tx, h)
	return a != nil && a.To == x.peer && a.Root == x.from
}

// forget destroys what an item has left here.
func (g *Gate[G]) forget(tx *world.Tx, x *opened) error {
	piece, err := snapshot.ReadPiece(x.piece)
	if err != nil {
		return fmt.Errorf("transit: what was sent by gate %q cannot be read any more", g.name)
	}
	for h := range piece.Handles() {
		if !g.roads.isOf(tx, h, x) {
			continue
		}
		if err := (*engine.Tx)(tx).Discard(h); err != nil && !errors.Is(err, world.ErrStale) { // stale: it is marked, and nobody spares it any more
			return err
		}
	}
	return nil
}

// Waiting yields what is under way to a world by this gate, with the numbers of the items; see
// Mail.Waiting. The world must be idle.
func (g *Gate[G]) Waiting(to World) iter.Seq2[uint64, Traveller[G]] {
	return g.waiting("Gate.Waiting", to, nil)
}

// Unaccepted yields what is under way by this gate to another world of this process, and was not
// accepted there; see Mail.Unaccepted. To count what is in it, insert its Piece into a world that is
// kept for that.
func (g *Gate[G]) Unaccepted(to *Roads) iter.Seq2[uint64, Traveller[G]] {
	return g.waiting("Gate.Unaccepted", to.world, g.roads.accepted(to))
}

// waiting yields what is under way but for those that skip says.
func (g *Gate[G]) waiting(call string, to World, skip func(n uint64) bool) iter.Seq2[uint64, Traveller[G]] {
	return func(yield func(uint64, Traveller[G]) bool) {
		for x := range g.roads.underWay(call, to, skip) {
			if x.mail != letters(g) {
				continue
			}
			v, ok := g.body.read(x.body)
			piece, err := snapshot.ReadPiece(slices.Clone(x.piece))
			if ok && err == nil && !yield(x.n, Traveller[G]{handle.Handle(x.from), v, piece}) {
				return
			}
		}
	}
}

// treeHeading is what the item of a traveller begins with.
type treeHeading struct {
	gate   string // the name
	shape  uint64 // of the form of the body
	root   uint64
	weight uint64 // about what it takes of a transaction
}

// headMost is how many bytes a heading may have, besides the name.
const headMost = 64

func (h *treeHeading) append(dst []byte) []byte {
	dst = appendText(append(dst, treeItem), h.gate)
	dst = binary.LittleEndian.AppendUint64(dst, h.shape)
	dst = binary.AppendUvarint(dst, h.root)
	return binary.AppendUvarint(dst, h.weight)
}

// rootOf returns the root of a traveller by its item, or None for another item.
func rootOf(item string) handle.Handle {
	if item == "" || item[0] != treeItem {
		return handle.None
	}
	head := []byte(item[1:min(len(item), binary.MaxVarintLen64+1)])
	n, size := binary.Uvarint(head)
	if at := 1 + size + int(n) + 8; size > 0 && n < TreeBytesMax && at < len(item) {
		root, _ := binary.Uvarint([]byte(item[at:min(len(item), at+binary.MaxVarintLen64)]))
		return handle.Handle(root)
	}
	return handle.None
}
