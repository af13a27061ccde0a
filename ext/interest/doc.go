// Package interest sends each client what it sees of a world, and only what the client does not
// know yet.
//
// [Clients] has a [Client] for each connection. [Clients.Update] takes a frame, finds the entities
// that each client sees by an index of package near, and makes a [Packet] for each client that has
// news: entities that have come, entities that have gone, and of the others the components that
// have changed. It works on frames while the world ticks, so the world does not depend on it:
// clients are not saved, and what they do here is not an input.
//
//	look     for each client, in the order of cells: which entities it sees
//	encode   for each entity that some client sees: its components as bytes, and which of them have changed
//	tell     for each client: its packet of leaves, enters and changes, as many as fit in its budget
//
// [Clients.Run] calls Update at a rate while the world ticks. For a connection that keeps the
// order, use [ClientOptions.Write]; for others [Packet.AppendTo] makes the bytes of a packet.
//
// The work grows with the number of clients and what each sees, not with clients times entities. An
// entity is encoded once in an Update, and all packets share the bytes.
package interest
