// Package async does work outside of the world, such as a query of a database or an HTTP call, and
// delivers its result as a message.
//
//	system ──Go──▶ ask ──end of tick──▶ Pool: func(ctx, args) ──port──▶ refresh ──▶ message
//	               └── time-out ─────────────────────────────────────────────────▶
//
// A [Call] is a function that runs outside. [Call.Go] asks for it about an entity, from systems,
// functions, hooks and the idle world. When the tick has ended, a [Pool] runs what it asked for, on
// a fixed number of goroutines. The [Result] is delivered to whichever shard has the entity then.
// Each ask has exactly one result, at the latest when Options.Ticks are over, unless its entity
// dies.
//
// Asks are state of the world: they count for the hash, and are saved, recorded and forked with it.
// Results arrive as requests of ports do, so a log has them, and a replay makes no calls. A world
// acts outside only while it has a Pool. Forks and replays are new worlds without one, so their
// asks time out. If a world is given another Pool, it runs again what was under way if
// Options.Rerun says so; otherwise the result is Lost.
package async
