package transit

// planted is a mistake that a test has planted, to see that it is found. Tests alone set it, before
// they make worlds.
var planted mistake

// mistake is something that a transit must not do.
type mistake uint8

const (
	none               mistake = iota
	withoutInbox               // a snapshot lacks what has come
	earlyPrune                 // answers are forgotten when they are told
	earlyForget                // an item is forgotten when it is sent
	decideAgain                // an item that was decided is decided again
	chainNotCompared           // of two ends
	settledNotCompared         // what a world was told to be settled, with what is
	sendEarly                  // what is not on disk is sent
	answerEarly                // what is not on disk is answered
	deadAccepted               // a message to a dead entity is accepted
	returnAnew                 // what comes back has new handles
	dieWithParent              // what is away dies with its parent
	doneEarly                  // roads are done before all know what was decided
)
