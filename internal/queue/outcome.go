package queue

// Outcome says what happened to a request.
type Outcome uint32

// The outcomes of a request. The zero value means that it is not decided yet.
const (
	Undecided Outcome = iota
	Applied           // done
	Gone              // too late: the entity was dead, or never was
	Missing           // the entity has no such component, name or parent
	Refused           // a limit was reached, or a name, place or child is taken
	Failed            // the function panicked
	Closed            // the world was closed before: certainly not done
	Broken            // the world broke before the outcome was known
	Unknown           // the world was closed when the request was sealed, and it is not known whether the log has it
	outcomes
)

// String returns the outcome as a lower-case word.
func (o Outcome) String() string {
	if o >= outcomes {
		return "unknown"
	}
	return [...]string{"undecided", "applied", "gone", "missing", "refused", "failed", "closed", "broken", "unknown"}[o]
}

// Finisher is notified of the outcome of a request, once.
type Finisher interface{ Finish(Outcome) }
