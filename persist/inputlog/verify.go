package inputlog

import (
	"fmt"

	"github.com/atoll-sim/atoll/persist/state"
)

// Verify compares the state of the world with the hashes that were recorded between these two
// ticks, and reports whether there were any. hasher must be one of the played
// world with the options of the Recorder's. It returns ErrDiffers, with the tick and the
// first section that differs, or the hasher's error. After the last tick, call it
// before the Next that returns false.
func (p *Player) Verify(hasher *state.Hasher) (verified bool, err error) {
	for {
		kind, body := p.peek()
		if p.err == nil && kind == kindsRecord {
			p.pending, p.err = false, p.learn(body)
			continue
		}
		if p.err != nil || kind != hashRecord {
			return verified, nil // Next reports it
		}
		p.pending = false
		if err := p.verify(hasher, body); err != nil {
			return true, err
		}
		verified = true
	}
}

func (p *Player) verify(hasher *state.Hasher, body []byte) error {
	mine, err := hasher.Sections()
	if err != nil {
		return err
	}
	c := cursor{rest: body}
	tick, n := c.number(), c.count()
	if c.err == nil && tick != p.w.Tick() {
		return p.log.from.wrong(ErrOtherWorld, "it has the hashes of tick %d, the world is at %d", tick, p.w.Tick())
	}
	for i := range n {
		name := string(c.bytes())
		hash := state.Hash(c.word())
		if c.err != nil {
			break
		}
		if i >= len(mine) || mine[i].Name != name {
			return fmt.Errorf("%w: before tick %d, in what it consists of: it has no %s in that place", ErrDiffers, tick, name)
		}
		if mine[i].Hash != hash {
			return fmt.Errorf("%w: before tick %d, first in %s: %v, was %v", ErrDiffers, tick, name, mine[i].Hash, hash)
		}
	}
	switch {
	case c.err != nil:
		return p.log.from.altered("%v", c.err)
	case n < len(mine):
		return fmt.Errorf("%w: before tick %d, in what it consists of: it also has a %s", ErrDiffers, tick, mine[n].Name)
	}
	return nil
}
