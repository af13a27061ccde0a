package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/prefab"
	"github.com/atoll-sim/atoll/world"
	"github.com/coder/websocket"
)

const (
	patience  = 5 * time.Second // with who does not read
	namesMax  = 100_000         // players, here or not
	packetMax = 3200            // bytes, or a row more: at ten packets a second 256 kbit
)

var goodName = regexp.MustCompile(`^[\pL\pN]{1,16}$`)

// play serves a client. Each message of it is a Goal, in 9 bytes: X and Y as float32, and 1 to fight.
func (z *zone) play(rw http.ResponseWriter, r *http.Request) {
	z.clients.Add(1)
	defer z.clients.Done()
	conn, err := websocket.Accept(rw, r, nil) // not of a page of another origin
	if err != nil {
		return // it has answered
	}
	conn.SetReadLimit(9)
	err = z.session(r.Context(), conn, r.FormValue("name"))
	why := err.Error()
	_ = conn.Close(websocket.StatusPolicyViolation, strings.ToValidUTF8(why[:min(len(why), 123)], "")) // unless it is closed already
}

// session logs a player in, and ends with an error. Until the row is there, others do not see the player.
func (z *zone) session(ctx context.Context, conn *websocket.Conn, name string) error {
	if !goodName.MatchString(name) {
		return errors.New("a name has 1 to 16 letters and digits")
	}
	if _, twice := z.online.LoadOrStore(name, true); twice {
		return errors.New("somebody plays under this name")
	}
	defer z.online.Delete(name)
	port, err := z.world.OpenPort()
	if err != nil {
		return err
	}
	defer port.Close()
	me, known := z.players.Lookup(name)
	if !known && z.players.Len() >= namesMax {
		return errors.New("there are as many players as can be; come back under an old name")
	}
	if err := port.Batch(func() (err error) {
		if !known {
			if me, err = z.player.Create(port, prefab.With(z.name, Name{name})); err != nil {
				return err
			}
			err = z.players.Bind(port, me, name)
		}
		return errors.Join(err, world.Flag(port, me, loading), world.Unflag(port, me, absent), z.load.Call(port, me, name))
	}); err != nil {
		return err
	}
	defer func() {
		late, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer done()
		var left world.Completion // before the name is free: requests of the next port may be applied first
		if world.Flag(port.Within(late).Notify(&left), me, absent) == nil {
			_, _ = left.Wait(late) // without a tick the next start does it
		}
	}()
	view := z.views.Open(interest.Viewer{Entity: me, Radius: sight, Margin: 5, Bytes: packetMax, Unacked: 1, Client: conn})
	defer view.Close()
	for {
		kind, m, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary || len(m) != 9 || m[8] > 1 {
			return errors.New("a message has 9 bytes, the last of which is 0 or 1")
		}
		x, y := math.Float32frombits(binary.LittleEndian.Uint32(m)), math.Float32frombits(binary.LittleEndian.Uint32(m[4:]))
		if !(x >= 0 && x <= side && y >= 0 && y <= side) {
			return errors.New("that is not in the zone")
		}
		// If it sends faster than the world ticks it waits here, and the world for nobody.
		if err := z.goal.Set(port.Within(ctx), me, Goal{float64(x), float64(y), m[8] == 1}); err != nil {
			return err
		}
	}
}

// tell tells clients what they see, beside the ticks. It sends a packet when the one before was written, so who
// reads slowly gets fewer, with all that is new.
func (z *zone) tell(ctx context.Context) error {
	for {
		frame, err := z.view.Capture(ctx)
		if err != nil {
			return err
		}
		z.views.Update(frame, runtime.GOMAXPROCS(0), func(v *interest.View, p *interest.Packet) {
			bytes, number := appendPacket(nil, p), p.Number
			go func() {
				late, done := context.WithTimeout(ctx, patience)
				defer done()
				_ = v.Client().(*websocket.Conn).Write(late, websocket.MessageBinary, bytes) // or it closes the connection
				v.Ack(number)
			}()
		})
		frame.Release()
	}
}

// appendPacket appends how many leave, and their slots; then of each row its slot, the columns, a bit each, and
// their values. Slots and counts are uvarints. A slot that nobody is in is of somebody new.
func appendPacket(b []byte, p *interest.Packet) []byte {
	b = binary.AppendUvarint(b, uint64(len(p.Leaves)))
	for _, l := range p.Leaves {
		b = binary.AppendUvarint(b, uint64(l.Slot))
	}
	for _, r := range p.Rows { // Removed is always 0 here
		b = append(append(binary.AppendUvarint(b, uint64(r.Slot)), byte(r.Columns)), r.Bytes...)
	}
	return b
}

func appendPosition(b []byte, p *Position) []byte {
	return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, uint16(p.X*64)), uint16(p.Y*64))
}
func appendName(b []byte, n *Name) []byte     { return append(append(b, byte(len(n.Text))), n.Text...) }
func appendHealth(b []byte, h *Health) []byte { return append(b, byte(h.Points*255/h.Max)) }
func appendPlayer(b []byte, p *Player) []byte { return binary.AppendUvarint(b, uint64(p.Score)) }
