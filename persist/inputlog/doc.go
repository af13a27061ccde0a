// Package inputlog records the inputs of a world, tick by tick, and
// plays them to another world, which becomes the same. So a failure can be studied
// after the fact, with other tools, as often as needed.
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
// docs/determinism.md says what is recorded, what the game must do itself, and on which other
// machines a replay is the same.
package inputlog
