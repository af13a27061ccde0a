// Package queue carries requests from one goroutine to another, in order and bounded. It knows how
// many bytes a request of each kind takes and which slot its handle names, but not what the request
// does.
//
//	Queue    (queue.go)   the requests of one sender, in records (records.go) over a Ring (ring.go)
//	Request  (request.go) 16 bytes and a payload; Kind is the right to send some, Registry all kinds
//	Drained  (pending_request.go) what a refresh takes out of queues
//	Outcomes (outcomes.go) what became of requests
package queue
