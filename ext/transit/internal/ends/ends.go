// Package ends gives package link access to roads of package transit.
package ends

import (
	"context"
	"time"
)

const (
	// PacketBytesMax is how many bytes a packet may have: an item of the largest, and the numbers
	// before it.
	PacketBytesMax = 1<<20 + 64<<10
	// AnswersBytesMax is how many bytes answers may have.
	AnswersBytesMax = 64 << 10
)

// End is a world of this process, as a carrier reaches it that brings and takes bytes. All calls are
// safe from any goroutine, and may be made again: what comes twice changes nothing.
type End interface {
	// Arrive brings a packet of another world, and returns the answers when they are on disk.
	Arrive(ctx context.Context, from uint32, packet []byte) (answers []byte, err error)
	// Turn brings answers of another world, and returns the next packet when its items are on disk. If
	// there is nothing to tell, it waits so long for something, and returns a packet without items.
	Turn(ctx context.Context, to uint32, answers []byte, patience time.Duration) (packet []byte, err error)
	// Carry carries between this world and one elsewhere, in both directions, until an error comes or
	// ctx ends.
	Carry(ctx context.Context, to uint32, far Far) error
	// Close closes the ports of the world that are open. What is called later closes those it opens.
	Close()
}

// Far is a world of another process. Its calls return when they have succeeded, when ctx has ended,
// or when trying again cannot help.
type Far interface {
	Arrive(ctx context.Context, packet []byte) (answers []byte, err error)
	Turn(ctx context.Context, answers []byte) (packet []byte, err error)
}

// open returns the End of *transit.Roads. It is set once, when the program starts.
var open func(roads any) End

// Register sets what Of calls. Package transit calls it when the program starts.
func Register(f func(roads any) End) { open = f }

// Of returns the End of *transit.Roads.
func Of(roads any) End { return open(roads) }
