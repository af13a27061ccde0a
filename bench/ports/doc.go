// Command ports measures what ports are for: many goroutines that check, create
// and destroy entities of one world while it ticks. The same work is done by
// Ark behind a mutex, by maps of pointers in locked shards, and by kelindar/column.
//
//	go run ./bench/ports                       all tables
//	go run ./bench/ports -quick                in about a minute
//	go run ./bench/ports -out docs/ports.md    and writes them to a page
//
// Contenders take turns, round by round, within one process; a ratio is the median
// of the ratios of the rounds. So another program on the same cores slows all contenders of a
// round.
package main
