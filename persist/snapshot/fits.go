package snapshot

import (
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Fits returns the error that Insert would return because the world lacks something that the piece
// has, or has it in another form: ErrOtherWorld, with all names, or ErrAltered. It says nothing
// about room and names that are taken, and changes nothing. The world must be idle. Of the options
// only Codecs and Changes count.
func Fits(w *world.World, piece *Piece, o InsertOptions) error {
	if w == nil || piece == nil {
		panic("snapshot: Fits with a nil World or a nil Piece; pass one of world.New, and one of Extract or ReadPiece")
	}
	d := engine.Of(w)
	if err := d.Err(); err != nil {
		return err
	}
	d.MustIdle("snapshot.Fits")
	has, err := piece.contents()
	if err == nil {
		_, err = typesOf(d, o.Codecs).match(has, &o)
	}
	return err
}
