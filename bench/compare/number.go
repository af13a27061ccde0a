package main

import (
	"math"
	"strconv"
)

// size writes a number of entities for people.
func size(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return strconv.Itoa(n/1_000_000) + "M"
	case n == 1024:
		return "1k"
	case n >= 1000 && n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// ns writes a time with three significant digits, or a dash.
func ns(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case math.Abs(*v) < 10:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	case math.Abs(*v) < 100:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

// quantity is ns for values that may be 0.
func quantity(v *float64) string {
	switch {
	case v != nil && *v == 0:
		return "0"
	case v != nil && math.Abs(*v) < 0.01:
		return strconv.FormatFloat(*v, 'g', 2, 64)
	}
	return ns(v)
}

// valueOf returns one of the values by name, or nil.
func valueOf[K comparable](values map[K]float64, key K) *float64 {
	if v, ok := values[key]; ok {
		return &v
	}
	return nil
}

func ratio(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// trim writes a number with as many digits as it has.
func trim(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func or(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
