package snapshot

import (
	"slices"

	"github.com/atoll-sim/atoll/internal/drive"
)

// systems matches the systems of the schedulers by name.
func (m *matching) systems() {
	if m.saved.scheduler && !m.own.scheduler {
		if m.files {
			m.note("scheduler", "", "", false, "is in the old one alone; Load needs one in Options.Scheduler")
		} else {
			m.note("scheduler", "", "", true, "is in the snapshot; pass one in Options.Scheduler")
		}
		return
	}
	own := namesOf(m.own.systems)
	now := rename(m.o.Changes, "system", namesOf(m.saved.systems), own)
	for i, name := range now {
		n := &m.saved.systems[i]
		switch n.at = slices.Index(own, name); {
		case n.at < 0:
			m.missing("system", n, name)
		case name != n.name:
			m.note("system", n.name, "", false, "is %q now", name)
		}
	}
	for _, name := range own {
		if m.saved.scheduler && !slices.Contains(now, name) {
			m.note("system", name, "", false, "is new, and stays as it was added")
		}
	}
	m.balancer()
}

// balancer compares the Balancers of the schedulers, which have types as names.
func (m *matching) balancer() {
	saved, own := namesOf(m.saved.balancers), namesOf(m.own.balancers)
	_, loads := m.own.balances.(interface{ LoadState(src []byte) error })
	_, keeps := m.own.balances.(interface{ AppendState(dst []byte) []byte })
	switch {
	case !m.saved.scheduler || len(saved)+len(own) == 0:
	case len(own) == 0:
		m.note("balancer", saved[0], "", false, "is not in Options.Scheduler: its state is left out")
	case len(saved) == 0:
		m.note("balancer", own[0], "", false, "is new, and stays as it was made")
	case keeps && !loads:
		m.note("balancer", saved[0], own[0], true, "has a state and no LoadState: give it the method")
	case saved[0] == own[0]:
	case loads || m.files:
		m.note("balancer", saved[0], own[0], false, "is another, which gets the state that was saved")
	default:
		m.note("balancer", saved[0], own[0], false, "is another, without a state: what was saved is left out")
	}
}

// loadSystems gives the scheduler the state that was saved of the systems that it has now.
func (l *loading) loadSystems(state []byte) error {
	state, err := drive.RenameSystems(state, l.w.Shards(), func(name string) (now string, ok bool) {
		at := slices.IndexFunc(l.names.systems, func(n named) bool { return n.name == name })
		if at < 0 || l.names.systems[at].at < 0 {
			return "", at < 0 // no scheduler wrote that: LoadState says so
		}
		return l.own.systems[l.names.systems[at].at].name, true
	})
	if err != nil {
		return err
	}
	return l.o.Scheduler.LoadState(state)
}
