package pairs_test

// closing closes the world while requests are under way, which are not done.
func closing() *feature {
	return &feature{
		name: "close",
		end: func(s *scene) {
			s.draw()
			s.closes = true
		},
	}
}
