package extend

// RefreshStep is a part of a refresh, for statistics and traces. The comment of type Engine in
// package refresh describes the steps.
type RefreshStep uint8

// The steps, in their order.
const (
	StepGather RefreshStep = iota
	StepRead
	StepCreate
	StepRoute
	StepApply
	StepCommit
	StepExtend
	StepObserve
	StepCollectOutgoing
	StepCopyIncoming
	StepCompact
	StepRecycle
	StepRelease
	StepEndTick
	StepDeliver
	StepDerive
	StepCapture
	StepNotify
	RefreshSteps // how many there are
)

var refreshSteps = [RefreshSteps]struct {
	name    string
	byShard bool
}{
	StepGather: {"gather", false}, StepRead: {"read", false}, StepCreate: {"create", true}, StepRoute: {"route", false},
	StepApply: {"apply", true}, StepCommit: {"commit", true}, StepExtend: {"extend", false}, StepObserve: {"observe", true},
	StepCollectOutgoing: {"collect outgoing", true}, StepCopyIncoming: {"copy incoming", true}, StepCompact: {"compact", true},
	StepRecycle: {"recycle", true}, StepRelease: {"release", false}, StepEndTick: {"end tick", true}, StepDeliver: {"deliver", true},
	StepDerive: {"derive", false}, StepCapture: {"capture", false}, StepNotify: {"notify", false},
}

// String returns the name of the step.
func (s RefreshStep) String() string { return refreshSteps[s].name }

// ByShard reports whether the parts of the step that run in parallel are shards.
func (s RefreshStep) ByShard() bool { return refreshSteps[s].byShard }

// StepSpan is a step of a refresh, in ticks of package clock.
type StepSpan struct {
	Step     RefreshStep
	From, To int64
}
