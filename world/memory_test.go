package world_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestMemoryOfTheDead destroys some of many entities: what their components
// pointed to is collected, whichever rows they had.
func TestMemoryOfTheDead(t *testing.T) {
	const n = 400
	for name, dies := range map[string]func(i int) bool{
		"all":    func(int) bool { return true },
		"first":  func(i int) bool { return i == 0 },
		"last":   func(i int) bool { return i == n-1 },
		"front":  func(i int) bool { return i < n/2 },
		"back":   func(i int) bool { return i >= n/2 },
		"every3": func(i int) bool { return i%3 == 0 },
	} {
		for _, keepOrder := range []bool{false, true} {
			if check.Enabled && keepOrder {
				continue // the same memory, once more
			}
			for _, kind := range []string{"World", "Port"} {
				t.Run(name+" by "+kind, func(t *testing.T) {
					e := newEstate(t, keepOrder)
					var living, dead []traces
					var dying []handle.Handle
					e.holder(kind, func(by world.Actor) {
						all, what := e.settle(by, n)
						for i, h := range all {
							if dies(i) {
								dying, dead = append(dying, h), append(dead, what[i])
							} else {
								living = append(living, what[i])
							}
						}
					})
					e.mustBe(true, dead...)
					for _, h := range dying {
						require.True(t, e.Destroy(h))
					}
					e.mustBe(true, dead...)
					e.Refresh()
					e.mustBe(false, dead...)
					e.mustBe(true, living...)
					e.all.Destroy() // those that filled the holes
					e.Refresh()
					e.mustBe(false, living...)
					runtime.KeepAlive(e)
				})
			}
		}
	}
}

// memoryPaths are the ways that a value takes into a world and out of it. Each
// returns what nothing should keep any more, and what the world should. They are
// functions of their own so that no variable of a test keeps anything.
var memoryPaths = map[string]func(e *estate) (gone, kept []traces){
	"set": func(e *estate) (gone, kept []traces) {
		all, old := e.settle(e.World, 3)
		o, t := own()
		require.NoError(e.t, e.owner.Set(e.World, all[1], o))
		return old[1:2], append(kept, old[0], old[2], t)
	},
	"set by a port": func(e *estate) (gone, kept []traces) { return e.replace(e.port(), e.owner.Set, e.Refresh) },
	"add by a port": func(e *estate) (gone, kept []traces) { return e.replace(e.port(), e.owner.Add, e.Refresh) },
	"add":           func(e *estate) (gone, kept []traces) { return e.replace(e.World, e.owner.Add, func() {}) },
	"exchange": func(e *estate) (gone, kept []traces) {
		return e.replace(e.World, func(by world.Actor, h handle.Handle, o Owner) error {
			return e.rich.Add(by, h, rich{Owner: o}, e.position)
		}, func() {})
	},
	"exchange by a port": func(e *estate) (gone, kept []traces) {
		return e.replace(e.port(), func(by world.Actor, h handle.Handle, o Owner) error {
			return e.rich.Add(by, h, rich{Owner: o}, e.position)
		}, e.Refresh)
	},
	"set in a system, and elsewhere": func(e *estate) (gone, kept []traces) {
		all, old := e.settle(e.World, 200)
		gone = old
		e.tick(on(0, func(b *world.Build) func(*world.Context) {
			world.Write[Owner](b)
			return func(c *world.Context) {
				for _, h := range all {
					o, t := own()
					kept = append(kept, t)
					require.NoError(e.t, e.owner.Set(c, h, o))
				}
			}
		}))
		return gone, kept
	},
	"to those who are gone": func(e *estate) (gone, kept []traces) {
		all, gone := e.settle(e.World, 1)
		e.Destroy(all[0])
		e.Refresh()
		p := e.port()
		for _, ask := range []func(o Owner) error{
			func(o Owner) error { return e.owner.Set(p, all[0], o) },
			func(o Owner) error { return e.owner.Add(p, all[0], o) },
			func(o Owner) error { return e.rich.Add(p, all[0], rich{Owner: o}) },
			func(o Owner) error { return e.letter.Send(p, all[0], o) },
		} {
			o, t := own()
			require.NoError(e.t, ask(o))
			gone = append(gone, t)
		}
		e.Refresh()
		return gone, nil
	},
	"to who lacks it": func(e *estate) (gone, kept []traces) {
		h, p := e.newUnit(1), e.port()
		o, t := own()
		require.NoError(e.t, e.owner.Set(p, h, o))
		e.Refresh()
		require.ErrorIs(e.t, e.owner.Set(e.World, h, o), world.ErrMissing)
		return append(gone, t), nil
	},
	"refused for a full queue": func(e *estate) (gone, kept []traces) {
		all, _ := e.settle(e.World, 1)
		p := e.port()
		for {
			o, t := own()
			if e.owner.Set(p, all[0], o) != nil {
				gone = append(gone, t)
				return gone, nil
			}
		}
	},
	"remove": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 5)
		require.NoError(e.t, e.owner.Remove(e.World, all[0]))
		require.NoError(e.t, e.owner.Remove(e.World, all[4]))
		return append(gone, what[0], what[4]), what[1:4]
	},
	"remove by a port": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 5)
		p := e.port()
		require.NoError(e.t, e.owner.Remove(p, all[0]))
		require.NoError(e.t, e.owner.Remove(p, all[4]))
		e.Refresh()
		return append(gone, what[0], what[4]), what[1:4]
	},
	"exchange away": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 5)
		require.NoError(e.t, e.unit.Add(e.World, all[2], Unit{}, e.owners))
		return what[2:3], append(kept, what[0], what[1], what[3], what[4])
	},
	"another component added, and taken": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 50)
		for _, h := range all {
			require.NoError(e.t, e.name.Add(e.World, h, Name{"x"}))
		}
		for _, h := range all[:25] {
			require.NoError(e.t, e.name.Remove(e.World, h))
		}
		for _, h := range all[20:] {
			e.Destroy(h)
		}
		e.Refresh()
		return what[20:], what[:20]
	},
	"remove in a batch": func(e *estate) (gone, kept []traces) {
		_, gone = e.settle(e.World, 300)
		require.NoError(e.t, e.all.Remove(e.owner))
		return gone, nil
	},
	"remove from the first": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 300)
		first := e.all.Limit(100)
		meant := chosen(first)
		for i, h := range all {
			if slices.Contains(meant, h) {
				gone = append(gone, what[i])
			} else {
				kept = append(kept, what[i])
			}
		}
		require.NoError(e.t, first.Remove(e.owner))
		return gone, kept
	},
	"exchange in a batch": func(e *estate) (gone, kept []traces) {
		_, gone = e.settle(e.World, 300)
		require.NoError(e.t, e.mover.AddTo(e.all, nil, e.owner))
		return gone, nil
	},
	"relabelled, then destroyed": func(e *estate) (gone, kept []traces) {
		_, gone = e.settle(e.World, 300)
		require.NoError(e.t, e.name.AddTo(e.all, nil))
		require.NoError(e.t, e.rich.AddTo(e.all, nil))
		require.NoError(e.t, e.all.Remove(e.name, e.health))
		e.all.Destroy()
		e.Refresh()
		return gone, nil
	},
	"added in a batch": func(e *estate) (gone, kept []traces) {
		e.newUnits(300)
		for range 2 { // the second time into rows that were dropped
			require.NoError(e.t, e.all.Remove(e.owner))
			gone, kept = append(gone, kept...), nil
			require.NoError(e.t, e.owner.AddTo(e.Query(world.Without[Owner](e.World)), func(rows world.Chunk) {
				for i := range e.w.Slice(rows) {
					require.Zero(e.t, e.w.Slice(rows)[i].Pointer)
					o, t := own()
					e.w.Slice(rows)[i], kept = o, append(kept, t)
				}
			}))
		}
		return gone, kept
	},
	"created in rows": func(e *estate) (gone, kept []traces) {
		require.NoError(e.t, e.owners.CreateRows(e.World, 300, func(rows world.Chunk) {
			for i := range e.w.Slice(rows) {
				o, t := own()
				e.w.Slice(rows)[i], gone = o, append(gone, t)
			}
		}))
		e.all.Destroy()
		e.Refresh()
		require.NoError(e.t, e.owners.CreateRows(e.World, 300, func(rows world.Chunk) {
			for i := range e.w.Slice(rows) {
				require.Nil(e.t, e.w.Slice(rows)[i].Map)
			}
		}))
		return gone, nil
	},
	"created in numbers": func(e *estate) (gone, kept []traces) {
		require.NoError(e.t, e.rich.CreateN(e.World, 100, func(_ int, v *rich) {
			o, t := own()
			v.Owner, kept = o, append(kept, t)
		}))
		for ch := range e.all.Chunks() { // the bundle itself keeps none
			clear(e.w.Slice(ch))
		}
		return kept, nil
	},
	"created in a system": func(e *estate) (gone, kept []traces) {
		e.tick(func(b *world.Build) func(*world.Context) {
			b.Creates(e.owners)
			return func(c *world.Context) {
				all, what := e.settle(c, 20)
				require.NoError(e.t, c.Destroy(all[7]))
				gone, kept = append(gone, what[7]), append(append(kept, what[:7]...), what[8:]...)
			}
		})
		return gone, kept
	},
	"created by a port, closed since": func(e *estate) (gone, kept []traces) {
		p := e.port()
		all, what := e.settle(p, 20)
		require.NoError(e.t, p.Destroy(all[3]))
		p.Close()
		e.Refresh()
		return what[3:4], append(what[:3:3], what[4:]...)
	},
	"copied": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 2)
		for i, h := range all {
			twin, err := world.Copy(e.World, h)
			require.NoError(e.t, err)
			e.Destroy(h)
			if i == 1 {
				e.Destroy(twin)
			}
		}
		e.Refresh()
		return what[1:], what[:1]
	},
	"flagged": func(e *estate) (gone, kept []traces) {
		all, what := e.settle(e.World, 60)
		for i, h := range all {
			require.NoError(e.t, world.AddFlags(e.World, h, world.Flags(1+i%2)))
		}
		for _, h := range all[:20] {
			e.Destroy(h)
		}
		for _, h := range all[20:40] {
			require.NoError(e.t, e.owner.Remove(e.World, h))
		}
		e.Refresh()
		return what[:40], what[40:]
	},
	"letters": func(e *estate) (gone, kept []traces) {
		all, kept := e.settle(e.World, 1)
		p := e.port()
		for range 100 {
			o, t := own()
			require.NoError(e.t, e.letter.Send(p, all[0], o))
			o2, t2 := own()
			require.NoError(e.t, e.letter.Send(e.World, all[0], o2))
			gone = append(gone, t, t2)
		}
		e.Refresh() // the World's have been read, the port's arrive
		e.mustBe(true, gone[len(gone)-2])
		e.mustBe(false, gone[len(gone)-1])
		e.Refresh()
		return gone, kept
	},
	"letters between shards": func(e *estate) (gone, kept []traces) {
		all, kept := e.settle(e.World, 200)
		e.tick(func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				for _, h := range all {
					o, t := own()
					require.NoError(e.t, e.letter.Send(c, h, o))
					gone = append(gone, t)
				}
			}
		})
		e.tick()
		return gone, kept
	},
	"clear": func(e *estate) (gone, kept []traces) {
		_, gone = e.settle(e.World, 500)
		p := e.port()
		_, more := e.settle(p, 50)
		e.Clear()
		return append(gone, more...), nil
	},
	"chunks given back": func(e *estate) (gone, kept []traces) {
		for range 4 {
			_, what := e.settle(e.World, 300)
			gone = append(gone, what...)
			require.NoError(e.t, e.name.AddTo(e.all, nil))
			require.NoError(e.t, e.health.AddTo(e.all, nil))
			e.all.Destroy()
			e.Refresh()
		}
		return gone, nil
	},
}

// TestMemoryPaths takes each of them, and then clears the world.
func TestMemoryPaths(t *testing.T) {
	for name, path := range memoryPaths {
		for _, keepOrder := range []bool{false, true} {
			if check.Enabled && keepOrder {
				continue // the same memory, once more
			}
			t.Run(name, func(t *testing.T) {
				e := newEstate(t, keepOrder)
				gone, kept := path(e)
				e.mustBe(false, gone...)
				e.mustBe(true, kept...)
				e.Clear()
				e.mustBe(false, kept...)
				runtime.KeepAlive(e)
			})
		}
	}
}

// replace gives three of ten owners something else, in a way that ends by done.
func (e *estate) replace(by world.Actor, way func(world.Actor, handle.Handle, Owner) error, done func()) (gone, kept []traces) {
	all, old := e.settle(e.World, 10)
	kept = old[3:]
	for _, h := range all[:3] {
		o, t := own()
		require.NoError(e.t, way(by, h, o))
		kept = append(kept, t)
	}
	done()
	return old[:3], kept
}
