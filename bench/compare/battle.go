package main

import (
	"fmt"
	"math"
)

var battles = &section{
	name:  "battle",
	title: "A tick of a game: movement, collision grid, damage and churn",
	text: `N fighters move about, in cells of 16 on average; a grid of who is in which cell is made anew; one of 16 attacks whoever is nearest in its cell;
about one of 64 dies and another comes. All do it by the same code, but for the loops and calls of the libraries. Ark with two goroutines is partitioned by
hand in the way of its own example: entities are related to the goroutine they are of, each asks for its own, and creating and destroying is
done by one goroutine afterwards. Contenders take turns, tick by tick; the least of 15 ticks each, by the clock. Processor time is that of all goroutines
together, the median: other programs hardly change it, and as much of it as on one goroutine means that two would be twice as fast on a machine of one's own. How many there are, and how many
attacks, is compared with what there should be.`,
	quick: 100_000, full: 1_000_000, weight: 10, cost: 40,
	columns: gameColumns,
	run: func(n int, s settings) []finding {
		return play(n, s.inSections("ark"), func(c contender, goroutines, n int) game {
			if c.role == own {
				return atollBattle(c.shards, goroutines, n)
			}
			return arkBattle(goroutines, n)
		}, battleTurns)
	},
}

// battleTurns: during the ticks before the first round, storage grows and health spreads.
var battleTurns = turns{rounds: 15, ticks: 1, settle: 20}

// verifyBattle compares a battle with the expected result.
func verifyBattle(n, ticks, fighters int, attacks uint64) error {
	if err := same("number of entities", fighters, n); err != nil {
		return err
	}
	if each := float64(attacks) / float64(ticks) / float64(n); n >= manyFrom && math.Abs(each*attackPeriod-1) > 0.25 {
		return fmt.Errorf("wrong result: %.3f attacks per entity and tick, want about %.3f", each, 1.0/attackPeriod)
	}
	return nil
}
