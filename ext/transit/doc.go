// Package transit lets worlds send each other messages and entities, each of which arrives once,
// whatever dies meanwhile.
//
// Worlds are instances of dungeons, zones of a map, servers of a realm. Each has a number, and [Ref]
// names an entity of one of them. [Mail.Tell] sends a message to such an entity, from systems,
// functions, transactions, hooks, ports and the idle world. [Carry] carries between two worlds of a
// process:
//
//	hails := world.RegisterMessage[Hail](w, "hail") // as ever, in each world
//	roads := transit.New(w, "roads", transit.Options{World: 7})
//	mail := transit.RegisterMail(roads, hails)
//	err := mail.Tell(c, from, to, Hail{Gold: 30}) // to is a Ref, which another world has sent
//	for _, m := range world.Receive[Hail](b).All() {          // there: as any message
//	for _, m := range world.Receive[transit.Returned[Hail]](b).All() { // here: what has come back
//		purses.Get(m.To).Gold += m.Body.Body.Gold // m.Body.Why says why
//	}
//	go transit.Carry(ctx, roads, other) // both directions, until ctx ends
//
// [Gate.Send] moves an entity to another world, with all below it:
//
//	gate := transit.RegisterGate[Ticket](roads, "harbour")
//	err := gate.Send(c, ship, 2, Ticket{"North"})             // and all that is in it
//	for _, m := range world.Receive[transit.Arrived[Ticket]](b).All() {  // there: m.To is the ship
//	for _, m := range world.Receive[transit.Returned[Ticket]](b).All() { // here: it is back, as it was
//	to, n, ok := roads.Away(c, ship)                          // it is under way
//
// Everything is state of both worlds, and changes by transactions alone:
//
//	husks   entities that are away: rows with nothing but the number of an item, which keep handles,
//	        names and places in relations, so that what is refused comes back as it was
//	outbox  of each world for each other: items 8 to 12, all up to 7 are settled
//	inbox   of that one: all up to 9 were decided, 8 was refused because its receiver is dead
//	chain   a hash over all items up to one, so that both ends can compare their past
//
// So it is hashed, saved, recorded and replayed with the world, and a carrier needs no state: it
// asks one world for the items that the other has not decided, brings them, brings back what was
// decided, and begins again. What comes twice is decided once. What cannot be delivered comes back
// to its sender, and what the sender's death makes undeliverable comes to shard 0: nothing
// vanishes. Messages from one world to another keep their order.
//
// A sum over worlds, of money say, is exact between two ticks of each: what entities have, what is
// in messages that were delivered and not read yet ([world.Message.Waiting]), and what is in
// [Mail.Unaccepted] and [Gate.Unaccepted] of each world for each other. [Cut] holds what arrives
// meanwhile, so that worlds need not stand still.
//
// If one world is restored from a backup, and the other is not, its channels stop with [ErrOlder],
// because it has forgotten what it has told. [Roads.Resolve] is for the operator then. [Roads.Close] is
// for a world that is to be given up. A world that is gone without it blocks the outboxes to it, until
// Resolve; [ErrFull] bounds these. [Forget] is for worlds that exist no more.
package transit
