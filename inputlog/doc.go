// Package inputlog records what a world is given from outside, tick by tick, and
// gives it to another world again, which becomes the same: to look into a failure
// after the fact, with other tools on, as often as it takes.
//
//	recorder, err := inputlog.NewRecorder(w, file, inputlog.Options{})
//	…                        // ticks
//	err = recorder.Close()
//
//	log, err := inputlog.Open(file)
//	player, err := log.Play(fresh, nil)
//	for player.Next() {
//		err := scheduler.Step(ctx)
//	}
//	err = player.Err()
//
// What is recorded, and what the game has to do itself, is in docs/determinism.md.
package inputlog
