package server

import "time"

// The limits of the server.
const (
	// LineBytesMax is the length of the longest line a client may send.
	LineBytesMax = 256
	// UnderWayMax is how many commands of a client may be accepted and without an
	// outcome.
	UnderWayMax = 32
	// QueueRequests is how many requests of a client the world holds until the
	// next refresh: the Options.QueueRequests for a realm that is served.
	QueueRequests = 16
	// IdleMax is how long a client may send nothing before it is dropped.
	IdleMax = 5 * time.Minute
	// WriteWaitMax is how long a client may not read before it is dropped.
	WriteWaitMax = 5 * time.Second
	// OutcomeWaitMax is how long an island may take to reply to a command that
	// was delivered. A command without a reply is reported as lost, which means a bug
	// in the server or the world.
	OutcomeWaitMax = 5 * time.Second

	// mailboxSize has room for the outcome of every command under way and for the
	// death of every avatar these may have made, and of the one before.
	mailboxSize = 2*UnderWayMax + 1
	// quoteBytesMax is how many bytes of a wrong word an error repeats.
	quoteBytesMax = 32
)
