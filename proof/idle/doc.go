// Package idle draws random programs that change a world between ticks, and holds four rules over
// them:
//
//   - Saved means loadable: a world that is saved at any moment, in any form, loads with the same
//     hash, and from there on the same calls give the same answers and the same hashes.
//   - Changed means told: a log of inputs that begins at each change that its Recorder was told of
//     replays to the same world.
//   - An error means no change: a call of the idle world that returns an error leaves the same hash.
//   - A program with more in it loads what the program without it has saved.
//
// Both worlds of a comparison get the same random numbers, and each call draws its arguments from
// what the world shows. So a difference that no hash has shows as another call.
//
//	go test ./proof/idle                          two seconds for each rule
//	go test ./proof/idle -timeout 0 -for 1h       an hour
//	go test ./proof/idle -run TestSaved -program 7 -v
package idle
