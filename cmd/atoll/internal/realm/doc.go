// Package realm is the game world of the demo: islands full of creatures that
// wander, fight, die, drop what they carry and come again, with avatars among them
// that clients steer.
//
// Each shard of the world is one island; they lie side by side in a grid, and who
// walks across a border is moved to the other island's shard. The systems run in
// this order:
//
//	wander   creatures turn, everything that has a velocity moves
//	sense    the island's grids are made anew: who is near whom
//	obey     avatars do what clients commanded
//	fight    creatures choose a neighbour, or somebody they heard of, and attack
//	strike   attacks land; who dies drops what it carries
//	expire   items that lay too long are gone
//	spawn    new creatures come for those that died
//	deal     avatars take items, stack them and trade
//	sight    answers what clients asked about entities on any island
//	cross    who has crossed a border goes to the island there
//
// Systems are deterministic: what they do depends on the seed, on the tick and
// on what was delivered, never on time or on the order of a map.
//
// The realm keeps its own books beside the world's: a Ledger for each island,
// written by the island's systems alone, and a sample of the dead. An audit
// holds them against a Census, which is a full scan of the world.
package realm
