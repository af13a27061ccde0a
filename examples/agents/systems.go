package main

import (
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	districts   = 64 // each way; a district is 4 by 4 cells
	illTicks    = 14
	immuneTicks = 60
	contagion   = 0.25   // the chance to be infected in a tick, if all others around are ill
	mortality   = 0.05   // the chance that an illness ends in death
	fertility   = 0.0005 // the chance to have a child in a tick
)

// The components of a person. They hold numbers alone, so the state hash needs no codec.
type (
	Place  struct{ X, Y uint8 } // wraps around at 256
	Health struct {
		Condition Condition
		Left      uint8 // ticks until the condition ends
	}
	Person struct {
		Place
		Health
	}
	Condition uint8
)

const (
	Well Condition = iota
	Ill
	Immune
)

// Crowd is an accumulator: how many people each district has, and how many are ill.
// Every shard counts its own people, and all shards read the sum.
type Crowd struct{ People, Ill [districts * districts]uint32 }

func mergeCrowd(total, part *Crowd) {
	for i := range total.People {
		total.People[i] += part.People[i]
		total.Ill[i] += part.Ill[i]
	}
}

// Census is an accumulator of what happened in a tick.
type Census struct{ Well, Ill, Immune, Born, Died int }

func mergeCensus(total, part *Census) {
	total.Well += part.Well
	total.Ill += part.Ill
	total.Immune += part.Immune
	total.Born += part.Born
	total.Died += part.Died
}

func (p Place) district() int { return int(p.Y/4)*districts + int(p.X/4) }

// Wander moves everybody by at most one cell.
func Wander(b *world.Build) func(*world.Context) {
	place := world.Write[Place](b)
	everybody := b.Query(place)
	return func(c *world.Context) {
		random := c.Rand() // not math/rand: the stream is the same for any number of workers
		for ch := range everybody.Chunks() {
			places := place.Slice(ch)
			for i := range places {
				places[i].X += uint8(random.IntN(3)) - 1
				places[i].Y += uint8(random.IntN(3)) - 1
			}
		}
	}
}

// Count adds the shard's people to the crowd and to the census.
func Count(b *world.Build) func(*world.Context) {
	place, health := world.Read[Place](b), world.Read[Health](b)
	crowd, census := world.Accumulate[Crowd](b), world.Accumulate[Census](b)
	everybody := b.Query(place, health)
	return func(*world.Context) {
		var n [Immune + 1]int
		for ch := range everybody.Chunks() {
			places, healths := place.Slice(ch), health.Slice(ch)
			for i, p := range places {
				crowd.People[p.district()]++
				if healths[i].Condition == Ill {
					crowd.Ill[p.district()]++
				}
				n[healths[i].Condition]++
			}
		}
		census.Well, census.Ill, census.Immune = n[Well], n[Ill], n[Immune]
	}
}

// Live lets the well fall ill, by the crowd around them, and illness and immunity end.
// The scheduler sees that it reads the crowd: it waits until all shards have counted.
func Live(b *world.Build) func(*world.Context) {
	place, health := world.Read[Place](b), world.Write[Health](b)
	crowd, census := world.ReadResource[Crowd](b), world.Accumulate[Census](b)
	everybody := b.Query(place, health)
	return func(c *world.Context) {
		random, around := c.Rand(), crowd.Get()
		for ch := range everybody.Chunks() {
			places, healths := place.Slice(ch), health.Slice(ch)
			for i := range healths {
				h, d := &healths[i], places[i].district()
				switch {
				case h.Condition == Well:
					if around.Ill[d] > 0 && random.Float64()*float64(around.People[d]) < contagion*float64(around.Ill[d]) {
						*h = Health{Ill, illTicks}
					}
				case h.Left > 1:
					h.Left--
				case h.Condition == Immune:
					*h = Health{}
				case random.Float64() < mortality:
					_ = c.Destroy(ch.Handle(i)) // of the own shard, so it is never refused
					census.Died++
				default:
					*h = Health{Immune, immuneTicks}
				}
			}
		}
	}
}

// Breed returns the system by which people have children, who are born at the same place.
func Breed(people *world.Bundle[Person]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		place, census := world.Read[Place](b), world.Accumulate[Census](b)
		b.Creates(people)
		everybody := b.Query(place)
		return func(c *world.Context) {
			random := c.Rand()
			for ch := range everybody.Chunks() {
				for _, p := range place.Slice(ch) {
					if random.Float64() >= fertility {
						continue
					}
					if _, err := people.Create(c, Person{Place: p}); err == nil { // or the shard is full
						census.Born++
					}
				}
			}
		}
	}
}
