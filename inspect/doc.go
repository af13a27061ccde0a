// Package inspect shows a running world to its operator: a page in the browser, and the JSON that
// the page reads.
//
//	x, err := inspect.New(s, inspect.Options{Name: "zone 3"})
//	…
//	go x.ListenAndServe(ctx, "127.0.0.1:8080")
//
// It shows ticks, systems, shards and requests over time, entities on a map and by queries,
// everything about one entity, and problems. With a token it also pauses and steps, enables and
// disables systems, and changes and destroys entities by a port, so that a log of inputs has it.
//
// # What it costs
//
// Once a second, and 4 times a second while a page is open, it reads statistics between two ticks,
// by [scheduler.Scheduler.Between]. That takes about a tenth of a microsecond for each pair of a
// system and a shard; if it takes more than a hundredth of the time, it happens less often, down to
// once in 4 seconds. Rows for queries and maps come from a copy that is made between two ticks as a
// [world.Frame] is, at most 4 times a second, of the components that were asked for. One entity is
// read between two ticks. Simultaneous readers share what is read. After a change by the page or
// its JSON, the next reader causes a new reading, so that no answer is older than the change. A
// slow or stuck reader never delays a tick: newer data replaces what was not sent, and the
// connection ends when nothing can be written for 5 seconds.
//
// # Who may look
//
// Without a token only clients on the same machine may read, and none may change anything. With
// one, clients that send it may do both from anywhere. See [Options.Token] and
// [Inspector.ListenAndServe].
package inspect
