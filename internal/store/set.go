package store

import "math/bits"

// ComponentsMax is the number of component types a world can hold.
const ComponentsMax = 256

// Set is a set of component numbers, comparable and usable as a map key.
type Set [ComponentsMax / 64]uint64

// Add puts component c into the set.
func (s *Set) Add(c int) { s[c/64] |= 1 << (c % 64) }

// Remove takes component c out of the set.
func (s *Set) Remove(c int) { s[c/64] &^= 1 << (c % 64) }

// Has reports whether component c is in the set.
func (s *Set) Has(c int) bool { return s[c/64]>>(c%64)&1 != 0 }

// Contains reports whether every member of t is in the set.
func (s *Set) Contains(t *Set) bool {
	return t[0]&^s[0]|t[1]&^s[1]|t[2]&^s[2]|t[3]&^s[3] == 0
}

// Meets reports whether the sets share a member.
func (s *Set) Meets(t *Set) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

// Union returns the members of either set.
func (s Set) Union(t Set) Set {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

// Minus returns the members of s that are not in t.
func (s Set) Minus(t Set) Set {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// Exchange takes the members of minus out of the set and puts those of plus in.
func (s *Set) Exchange(minus, plus *Set) {
	for i := range s {
		s[i] = s[i]&^minus[i] | plus[i]
	}
}

// Common returns the members of both sets.
func (s Set) Common(t Set) Set {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

// Len returns the number of members.
func (s *Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// rank returns the number of members below c.
func (s *Set) rank(c int) int {
	n := bits.OnesCount64(s[c/64] & (1<<(c%64) - 1))
	for _, w := range s[:c/64] {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the members in ascending order.
func (s Set) All(yield func(int) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !yield(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}
