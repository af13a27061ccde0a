package extend

// Measured is a figure of something that is kept besides the entities.
type Measured struct {
	Name   string // as Prometheus wants it, beginning with atoll_
	Help   string
	Of     string // the label of what it measures, or "" where a world has only one
	Counts bool   // it only grows
	Value  float64
}

// Measurable is an Extension, a Late, a Derived or an argument of World.AddMeasured that has
// figures. Measure is called on the idle world.
type Measurable interface {
	Measure(add func(Measured))
}
