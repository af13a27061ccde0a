// Package near finds entities by where they are: those within a radius, in a box or along a line,
// and the nearest ones, in all shards.
//
// An [Index] is computed from a component at the end of each refresh. Systems and frames read it by
// a [Reader], which shows where entities were when the tick began: it does not change meanwhile, so
// no system waits for another, and what is found does not depend on shards, workers or the order of
// rows.
//
//	base     entities by cell, as of some refresh: cells are rows in x, one behind the other
//	delta    those that have come or moved since, by cell
//	dead     which of base are somewhere else since, or gone
//
// What is read does not depend on what is in base and what in delta. If much has changed, base is
// computed again, otherwise only delta, whose cost depends on what moves. An Index is not state of
// the world: it is not saved or hashed, but computed again.
package near
