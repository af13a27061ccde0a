// Package same plays one log of requests to worlds of different shapes, and compares the result
// for each entity: metamorphic tests, which need no oracle.
//
//	go test ./proof/same -v
//	go test ./proof/same -v -timeout 0 -logs 10000
//
// The log is one sender's. Entities are identified by a key in a component, since handles and
// places differ from shape to shape. These may differ without changing the result: the number of
// shards, of workers and of processors, the placement of entities, the size of chunks, whether the
// order is kept, and the room in queues and outboxes, as long as they refuse nothing; and in a
// world without systems, when it is refreshed.
package same
