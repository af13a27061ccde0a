package main

// limits is code written by hand for each bench: one pair of slices for each
// archetype, no handles. It does no more than the bench needs.
var limits = contender{
	name: "slices", role: limit,
	iterate:  slicesIterate,
	lookup:   slicesLookup,
	populate: slicesPopulate,
	values:   slicesValues,
}

// slicesTable holds the entities of one set.
type slicesTable struct {
	set set
	pos []Position
	vel []Velocity
}

func slicesIterate() field {
	var tables, match []*slicesTable
	bySet := map[set]*slicesTable{}
	return field{
		place: func(s set, n int) {
			t := bySet[s]
			if t == nil {
				t = &slicesTable{set: s}
				bySet[s] = t
				tables = append(tables, t)
				if s&moving == moving {
					match = append(match, t)
				}
			}
			for range n {
				t.pos = append(t.pos, Position{})
				if s&velocity != 0 {
					t.vel = append(t.vel, Velocity{1, 1})
				}
			}
		},
		pass: func() {
			for _, t := range match {
				move(t.pos, t.vel)
			}
		},
		sum: func() float64 {
			sum := 0.0
			for _, t := range tables {
				for _, p := range t.pos {
					sum += p.X + p.Y
				}
			}
			return sum
		},
	}
}

func slicesLookup(n int) lookups {
	pos, rows := make([]Position, n), make([]uint32, n)
	for i := range pos {
		pos[i].X, rows[i] = float64(i), uint32(i)
	}
	shuffle(rows)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, row := range rows {
				sum += pos[row].X
			}
			return sum
		},
		write: func() {
			for _, row := range rows {
				pos[row].X++
			}
		},
	}
}

func slicesPopulate(wide bool, n int) population {
	if wide {
		var columns [extrasMax][]C1
		return population{
			create: func(n int) {
				for range n {
					for i := range columns {
						columns[i] = append(columns[i], C1{})
					}
				}
			},
			createBatch: func(n int) {
				for i := range columns {
					columns[i] = append(columns[i], make([]C1, n)...)
				}
			},
			reset: func() {
				for i := range columns {
					columns[i] = columns[i][:0]
				}
			},
			count:  func() int { return len(columns[0]) },
			forget: func() {},
		}
	}
	var pos []Position
	var vel []Velocity
	return population{
		create: func(n int) {
			for range n {
				pos = append(pos, Position{})
				vel = append(vel, Velocity{})
			}
		},
		createBatch: func(n int) {
			pos = append(pos, make([]Position, n)...)
			vel = append(vel, make([]Velocity, n)...)
		},
		reset:  func() { pos, vel = pos[:0], vel[:0] },
		count:  func() int { return len(pos) },
		forget: func() {},
	}
}

func slicesValues(wide bool, _ int) values {
	if wide {
		return slicesWideValues()
	}
	var pos []Position
	var vel []Velocity
	create := func(n int) {
		for range n {
			pos = append(pos, Position{1, 2})
			vel = append(vel, Velocity{3, 4})
		}
	}
	return values{
		create:      create,
		createBatch: create,
		clear:       func() { pos, vel = pos[:0], vel[:0] },
		sum: func() float64 {
			sum := 0.0
			for i := range pos {
				sum += pos[i].X + pos[i].Y + vel[i].X + vel[i].Y
			}
			return sum
		},
	}
}

func slicesWideValues() values {
	var columns [extrasMax][]C1
	create := func(n int) {
		for range n {
			for i := range columns {
				columns[i] = append(columns[i], C1{1, 2})
			}
		}
	}
	return values{
		create:      create,
		createBatch: create,
		clear: func() {
			for i := range columns {
				columns[i] = columns[i][:0]
			}
		},
		sum: func() float64 {
			sum := 0.0
			for _, column := range columns {
				for _, c := range column {
					sum += c.X + c.Y
				}
			}
			return sum
		},
	}
}
