package interest

import "runtime"

// Skip makes the next Updates have numbers as if there had been so many of them.
func Skip(s *Clients, n uint32) {
	for _, v := range s.clients {
		v.looked += n
		for i := range v.pairs.all {
			v.pairs.all[i].seen += n
			v.pairs.all[i].since += n
		}
	}
	s.now += n + 1 // marks do not follow
}

// Urgency is how urgent a row is.
func Urgency(weight, age, class uint32) uint8 { return urgency(weight, age, class) }

// Writes reports whether a packet of a client is written. Written waits until none is.
func Writes(v *Client) bool { return v.writer.waits() }

func Written(v *Client) {
	for Writes(v) {
		runtime.Gosched()
	}
}
