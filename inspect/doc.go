// Package inspect shows a living world to whoever operates it: a page in the browser, and the JSON
// that it is made of.
//
//	x, err := inspect.New(s, inspect.Options{Name: "zone 3"})
//	…
//	go x.ListenAndServe(ctx, "127.0.0.1:8080")
//
// What it shows: ticks, systems, shards and requests over time; entities on a map and by queries; all
// that one entity has; what went wrong. With a token it also pauses and steps, enables and disables
// systems, and changes and destroys entities, by a port, so that a log of inputs has it.
//
// # What it costs
//
// It works beside the ticks. Once a second, and 4 times a second while somebody looks on, it has a
// function called by [scheduler.Scheduler.Between]: for about a tenth of a microsecond for each pair of a system and a
// shard, for a hundredth of the time at the most, or else every 4 seconds. Rows for queries and maps come
// from a copy that is made between two ticks as a [world.Frame] is, at most 4 times a second, of the
// components that were asked for. One entity is read between two ticks. A reader who is slow or stuck
// never delays a tick: what is newer takes the place of what was not sent, and the connection ends
// when nothing can be written for 5 seconds.
//
// # Who may look
//
// Without a token only who is on the same machine may look, and nobody may change anything. With one,
// whoever has it may do both from anywhere. See [Options.Token] and [Inspector.ListenAndServe].
package inspect
