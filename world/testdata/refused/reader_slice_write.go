package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// What was asked for to read is not handed out for writing.
func write(pos *world.Reader[Position], ch world.Chunk) {
	pos.SliceWrite(ch)[0].X = 1 // refused
}
