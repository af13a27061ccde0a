// Package kill kills a server with every feature, again and again, and checks what is left: every
// tick and answer that was told durable is there, nothing is done twice, and no handle is given
// twice.
//
//	go test ./proof/kill                                           a handful of kills
//	go test ./proof/kill -run TestKill -v -timeout 0 -kills 2000   two thousand
//
// The server is this test's own binary, in a process of its own. It keeps a world by package
// durable. Its entities have maps and slices behind pointers, with a CloneBy, flags that messages
// wake, names, a relation and timers; they are made by bundles, prefabs and Copy, through ports
// that wait for outcomes and then for the disk; hooks, functions, questions and OnTick change them;
// and functions of Between change the idle world in pairs.
//
// The clients are in the process of the test. They know what they were told, and compare it with
// what the next server finds.
package kill
