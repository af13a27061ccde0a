// Package link carries between worlds of different processes, as transit.Carry does between two of
// one.
//
// One process serves its worlds, another dials. A connection carries in both directions, for all
// worlds of both processes. It does not matter who dials, and both may:
//
//	server := link.NewServer(options, roads)              // here: world 7
//	err := server.Serve(ctx, listener)                    // until ctx ends
//
//	client, err := link.NewClient("eu1.example:7000", options) // there: world 9
//	err = client.Carry(ctx, roads, 7)                     // one pair of worlds, until ctx ends
//
// # Breaks
//
// A carrier has no state, so nothing is lost or doubled when the line breaks, or when one process
// dies, or both. A [Client] tries again until it has a line, and goes on. What it waits for is in the
// log, and in [Client.Err]: there is no line, a certificate is not accepted, a world is not served
// yet. What waiting cannot heal ends Carry with an error, as transit.ErrOlder does.
//
// # Who may speak
//
// Processes speak HTTP/2 over TLS 1.3, and each verifies the certificate of the other. An authority
// that signs for nobody else, and a certificate for each process, are enough:
//
//	options := link.Options{TLS: &tls.Config{Certificates: mine, RootCAs: ours}}
//
// The certificate of a process has its host as a name, if it serves, and the worlds that it may speak
// for: world-7, or world-7.eu1.example; world-* is all. [Options.Allow] may decide otherwise. Without
// TLS, a link works only on a loopback address, where any process of the machine may speak for any
// world.
package link
