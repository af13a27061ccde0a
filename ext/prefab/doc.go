// Package prefab makes entities that belong together from templates.
//
// A [Prefab] is a tree of entities: the components of each, with their values, and the relation by
// which it is a child of another. [New] makes one from Go values, [Load] makes all of some JSON
// files. [Prefab.Create] and [Prefab.CreateN] make instances of it, for the idle world, systems,
// functions, hooks and ports; an instance is made whole or not at all. [Copy] copies an entity with
// all that is below it.
//
//	prefab    orc: health, wields ── holds, place 0 ──▶ axe: damage
//	          entity 0                                  entity 1
//	Local(1)  a handle in wields that stands for the axe; in each instance it is that of its own axe
//
// Prefabs are configuration of a world, as its components and systems are: they are in no hash, no
// snapshot and no log. A world that replays the log of another must make the same prefabs in the
// same order; one that loads a snapshot need not. A log has the values of what ports make. So a
// replay with other prefabs differs only from the first tick in which a system makes one that
// differs. A change of the prefab changes no existing entity. But slices, maps and what pointers
// point to are shared by all instances of a prefab, unless the component has a
// world.Component.CloneBy: then each instance has its own.
package prefab
