package scheduler

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/store"
)

// Fence is a wait between two systems: shards do not run System before others
// have passed After.
type Fence struct {
	System, After string
	// Near says that a shard waits only for its declared neighbours, and not for
	// all shards.
	Near    bool
	Reasons []Reason
}

// Reason is a component or resource that two systems must not use at the same
// time on different shards.
type Reason struct {
	Name  string // of the component or resource, or "all shards"
	First string // what the system that comes first does
	Then  string // what the other does
}

// String says what each of the two systems does.
func (r Reason) String() string {
	return fmt.Sprintf("%q: %s, then %s", r.Name, r.First, r.Then)
}

// What a system does, in the words of the plan.
const (
	writes    = "written"
	reads     = "read"
	readsAll  = "read in all shards"
	readsNear = "read in neighbours"
	addsTo    = "added to"
)

// What Reason names where a global system has the shards to itself.
const (
	allShards = "all shards"
	run       = "run"
	stopped   = "stopped"
)

// uses is one way in which a system uses components or resources, for which others may have
// to wait.
type uses struct {
	what  string
	set   func(*drive.Access) store.Set
	names func(driver.World, int) string
}

// The ways that clash.
var (
	ownWritten      = &uses{writes, ownWrites, component}
	readForeign     = &uses{readsAll, foreign, component}
	readNear        = &uses{readsNear, near, component}
	resourceWritten = &uses{writes, resourceWrites, resource}
	resourceRead    = &uses{reads, resourceReads, resource}
	resourceAdded   = &uses{addsTo, resourceParts, resource}
)

// clashes are the pairs of uses that must not happen at the same time in two
// different shards. Each pair counts in both orders.
var clashes = []struct {
	near bool
	a, b *uses
}{
	{a: ownWritten, b: readForeign},
	{a: ownWritten, b: readNear, near: true},
	{a: resourceWritten, b: resourceRead},
	{a: resourceWritten, b: resourceAdded},
}

func ownWrites(a *drive.Access) store.Set      { return a.Writes }
func foreign(a *drive.Access) store.Set        { return a.Foreign }
func near(a *drive.Access) store.Set           { return a.Neighbour }
func resourceWrites(a *drive.Access) store.Set { return a.ResourceWrites }
func resourceReads(a *drive.Access) store.Set  { return a.ResourceReads }
func resourceParts(a *drive.Access) store.Set  { return a.ResourceParts }

func component(w driver.World, id int) string { return w.ComponentName(id) }
func resource(w driver.World, id int) string  { return w.ResourceName(id) }

// reasons returns why shards must not run the systems first and then at the same time: far between
// any two shards, near between neighbours.
func reasons(w driver.World, first, then *system) (far, near []Reason) {
	switch a, b := first.access[0], then.access[0]; {
	case first.global && then.global: // never at the same time anyway
		return nil, nil
	case first.global && a.Exclusive:
		return []Reason{{allShards, stopped, run}}, nil
	case then.global && b.Exclusive:
		return []Reason{{allShards, run, stopped}}, nil
	default:
		for _, c := range clashes {
			to := &far
			if c.near {
				to = &near
			}
			add := func(x, y *uses) {
				for id := range x.set(a).Common(y.set(b)).All {
					*to = append(*to, Reason{x.names(w, id), x.what, y.what})
				}
			}
			add(c.a, c.b)
			add(c.b, c.a)
		}
		return far, near
	}
}
