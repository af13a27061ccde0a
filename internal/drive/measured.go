package drive

// Measured is a figure of something that is kept beside entities.
type Measured struct {
	Name   string // as Prometheus wants it, beginning with atoll_
	Help   string
	Of     string // the label of the thing, or "" where a world has one
	Counts bool   // it only grows
	Value  float64
}

// Measurable is an Extension, a Late, a Derived or what Tools.AddMeasured was given, that has figures. Measure is called
// on the idle world.
type Measurable interface {
	Measure(add func(Measured))
}
