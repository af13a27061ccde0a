// Package realm is the game world of the demo: islands full of creatures that
// wander, fight, die, drop what they carry and are replaced, with avatars among them
// that clients steer.
//
// Each shard of the world is one island. The islands lie side by side in a grid. An entity that
// walks across a border is moved to the other island's shard. The systems run in
// this order:
//
//	wander   creatures turn, everything that has a velocity moves
//	sense    the island's grids are rebuilt
//	obey     avatars do what clients commanded
//	fight    creatures choose a neighbour, or an entity of a rumour, and attack
//	strike   attacks land; entities that die drop what they carry
//	expire   items that lay too long are gone
//	spawn    new creatures replace those that died
//	deal     avatars take items, stack them and trade
//	sight    answers what clients asked about entities on any island
//	cross    entities that have crossed a border are moved to the island there
//
// Systems are deterministic: what they do depends on the seed, on the tick and
// on what was delivered, never on time or on the order of a map.
//
// The realm keeps books of its own besides the world's: a Ledger for each island,
// which only the island's systems write, and a sample of the dead. An audit
// compares them with a Census, which is a full scan of the world.
package realm
