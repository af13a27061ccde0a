// Package server is the gate to a realm: a TCP server with a line protocol, in
// which each client steers one avatar. The protocol is described in
// docs/protocol.md.
//
// A client has two goroutines. Its reader parses lines and sends requests to the
// world through the client's own port; its teller waits for their outcomes, in
// the order of the commands, and writes them. Only a tick decides what a command does to the world,
// and when:
//
//	          lines            requests               messages
//	socket ──────────▶ reader ──────────▶ port ─ ─ ─▶ systems
//	   ▲                  │ commands under way           │
//	   │    outcomes      ▼                              │ replies
//	   └─────────────── teller ◀───────── mailbox ◀──────┘
//
// Nothing on this path waits for a client within a tick: ports and mailboxes are
// bounded, and a client that does not read is dropped after WriteWaitMax.
package server
