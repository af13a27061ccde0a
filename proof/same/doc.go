// Package same gives one log of requests to worlds of different shapes, and compares what
// became of each entity: metamorphic tests, which need no oracle.
//
//	go test ./proof/same -v
//	go test ./proof/same -v -timeout 0 -logs 10000
//
// The log is one sender's. Entities are known by a key that a component holds, since
// handles and places differ from shape to shape. What may differ without a trace in the
// end: the number of shards, of workers and of processors, who is placed where, how large
// the chunks are, whether the order is kept, how much queues and outboxes hold, as long as
// they refuse nothing; and in a world without systems, when it is refreshed.
package same
