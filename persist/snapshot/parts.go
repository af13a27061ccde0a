package snapshot

import (
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/world"
)

// This file loads what is not in the rows.

// world loads what shapes the world as a whole.
func (l *loading) world(s *format.Section, c *extend.Cursor) error {
	if s.Kind != format.WorldSection || s.Number != 0 {
		return format.Altered("%v is not in its place", s)
	}
	x := format.ReadState(c)
	if err := c.End(); err != nil {
		return l.within(s, err)
	}
	own := l.v.State()
	if len(x.Hooks) != len(l.names.hooks) || x.Tick != l.head.Tick {
		return format.Altered("%v: it has %d hooks, want %d; tick %d, want %d", s, len(x.Hooks), len(l.names.hooks), x.Tick, l.head.Tick)
	}
	for i, h := range l.names.hooks {
		if h.at >= 0 {
			own.Hooks[h.at] = x.Hooks[i]
		}
	}
	x.Hooks = own.Hooks
	var err error
	if x.Pinned, err = l.components(x.Pinned); err == nil {
		x.Pinned = append(x.Pinned, slices.DeleteFunc(own.Pinned, func(c int) bool { // those that the snapshot does not know
			return slices.ContainsFunc(l.names.components, func(n named) bool { return n.at == c })
		})...)
		slices.Sort(x.Pinned)
		err = l.into.World(x)
	}
	if err != nil {
		return l.within(s, err)
	}
	return nil
}

// part loads a section that follows the rows.
func (l *loading) part(c *extend.Cursor, s *format.Section) error {
	switch s.Kind {
	case format.MailSection:
		return l.mail(c, s.Number)
	case format.ResourceSection:
		if s.Number >= len(l.names.resources) {
			return extend.ErrBody
		}
		return l.resource(c, &l.names.resources[s.Number])
	case format.ExtensionSection:
		if s.Number >= len(l.names.extensions) {
			return extend.ErrBody
		}
		body, n := slices.Clone(c.Take(len(c.Rest))), l.names.extensions[s.Number]
		if n.at >= 0 {
			l.later("extension", n.Name, func() error {
				x, err := extend.StateOf(l.v.Extensions()[n.at], l.o.Codecs, true)
				if err != nil {
					return err
				}
				return x.(extend.Saved).LoadSaved(body)
			})
		}
	case format.SchedulerSection:
		body := slices.Clone(c.Take(len(c.Rest)))
		l.later("state of", "scheduler", func() error { return l.loadSystems(body) })
	case format.AlsoSection:
		if s.Number >= len(l.names.also) {
			return extend.ErrBody
		}
		body, n := slices.Clone(c.Take(len(c.Rest))), l.names.also[s.Number]
		if n.at < 0 {
			break
		}
		l.also = append(l.also, func() error {
			if err := l.o.Also[n.at].Load(body); err != nil {
				return fmt.Errorf("snapshot: also %q: %w", n.Name, err)
			}
			return nil
		})
	}
	return nil
}

// later calls load once all entities exist.
func (l *loading) later(what, name string, load func() error) {
	l.also = append(l.also, func() error {
		if err := load(); err != nil {
			kind := ErrOtherWorld
			if errors.Is(err, extend.ErrImage) {
				kind = ErrAltered
			}
			return fmt.Errorf("%w: %s %q: %w", kind, what, name, err)
		}
		return nil
	})
}

// resource loads a resource, and what shards have added to it.
func (l *loading) resource(c *extend.Cursor, n *named) error {
	if n.at < 0 {
		err := l.pass(c, n, 1)
		if err == nil {
			err = l.pass(c, n, c.Int())
		}
		return err
	}
	value, parts, put := l.into.Resource(n.at)
	err := l.values(c, n.form, value)
	switch count := c.Int(); {
	case err != nil:
	case count == parts.Len:
		err = l.values(c, n.form, parts)
	case count > 0 && count != l.w.Shards():
		err = extend.ErrBody
	case count > 0: // it is no accumulator now
		err = l.values(c, shape.Skip(n.Parts), mem.Cells{Len: count})
	}
	l.put = append(l.put, put)
	return err
}

// mail loads the messages for a shard, and the requests that it has sent.
func (l *loading) mail(c *extend.Cursor, from int) error {
	if from > l.w.Shards() {
		return extend.ErrBody
	}
	if from < l.w.Shards() {
		for i := range l.names.messages {
			n := &l.names.messages[i]
			to := extend.WordsOf[handle.Handle](c)
			if n.at < 0 {
				if err := l.pass(c, n, len(to)); err != nil {
					return err
				}
				continue
			}
			if least := n.form.Least(); least > 0 && len(to) > len(c.Rest)/least {
				return extend.ErrBody
			}
			if !c.Takes(len(to), int(n.rows.Size())) {
				return c.Err
			}
			bodies, put := l.into.Mail(n.at, from, to)
			if err := l.values(c, n.form, bodies); err != nil {
				return err
			}
			l.put = append(l.put, put)
		}
	}
	for range c.Count(3) {
		kind, flags, h := c.Int(), queue.Flags(c.Below(1<<16)), c.Handle()
		if c.Err != nil || kind >= len(l.names.kinds) {
			return extend.ErrBody
		}
		n := &l.names.kinds[kind]
		if n.at < 0 {
			if err := l.pass(c, n, 1); err != nil {
				return err
			}
			continue
		}
		value, err := l.into.Request(sender(from, l.w.Shards()), n.at, flags, h)
		if errors.Is(err, world.ErrFull) {
			o := l.w.Options()
			return format.OtherWorld("more requests are under way than this world takes, with OutboxRequests = %d, OutboxBytes = %d; the saved one had %d and %d (a %s)", o.OutboxRequests, o.OutboxBytes, l.head.Options.OutboxRequests, l.head.Options.OutboxBytes, n.Name)
		}
		if err != nil {
			return fmt.Errorf("a %s: %w", n.Name, err)
		}
		if n.form == nil {
			continue
		}
		if c.Rest, err = l.value(c.Rest, n.form, value); err != nil {
			return fmt.Errorf("a %s: %w", n.Name, err)
		}
		l.v.Kinds().Renumber(n.at, value, l.component)
	}
	return nil
}

// loadSystems gives the scheduler the state that was saved of the systems that it has now.
func (l *loading) loadSystems(state []byte) error {
	state, err := extend.RenameSystems(state, l.w.Shards(), func(name string) (now string, ok bool) {
		at := slices.IndexFunc(l.names.systems, func(n named) bool { return n.Name == name })
		if at < 0 || l.names.systems[at].at < 0 {
			return "", at < 0 // no scheduler wrote that: LoadState says so
		}
		return l.own.systems[l.names.systems[at].at].Name, true
	})
	if err != nil {
		return err
	}
	return l.o.Scheduler.LoadState(state)
}
