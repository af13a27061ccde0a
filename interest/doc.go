// Package interest tells each client what it sees of a world, and of that what it does not know yet.
//
// A [Set] has a [View] for each client. [Set.Update] takes a frame, finds by an index of package near who is
// seen in each view, and makes for each view with something to tell a [Packet]: who has come, who has gone,
// and of the others the components that have changed. It runs beside the ticks, on frames, so the world
// knows nothing of it: views are no state, and nothing that clients do here is an input.
//
//	look     views, in the order of their cells: who is seen
//	encode   who is seen in some view: components as bytes, and whether those are others than before
//	tell     views: leaves, enters and changes, as many as fit in
//
// [Set.Run] does so while the world ticks. A connection that keeps the order has a [Viewer.Write]; for others
// [Packet.AppendTo] makes bytes of a packet.
//
// Work follows the number of views and what is seen in each, and not that of clients times entities. Bytes
// are made once for each entity and shared by all packets.
package interest
