package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// TestInstances plays, and looks at who is back with what.
func TestInstances(t *testing.T) {
	const players = 40
	g, err := newGame(players, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = g.play(t.Context(), 300*time.Millisecond, 30*time.Millisecond, &out) // it checks gold and players in each line
	if err != nil {
		t.Fatal(err, "\n", out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "1 worlds, 40 players of whom 0 are under way, 104000 gold") {
		t.Error(last)
	}
	t.Logf("%d dungeons, %d lines", g.made-lobbyNumber, len(lines))
	if g.made < 6 || len(g.dungeons) > 0 || len(g.lobby.roads.Peers()) > 0 {
		t.Errorf("%d dungeons were made, %d are left, the lobby knows %v", g.made-lobbyNumber, len(g.dungeons), g.lobby.roads.Peers())
	}
	if names, timers := g.lobby.named.Len(), g.lobby.hunger.Len(); names != players+1 || timers != players {
		t.Errorf("%d names, %d timers", names, timers)
	}
	home := 0
	for ch := range g.lobby.world.Query(world.With[Player](g.lobby.world), world.With[Purse](g.lobby.world)).Chunks() {
		home += len(ch.Handles())
	}
	if home != players {
		t.Errorf("%d players are home", home)
	}
}

// BenchmarkDungeon makes dungeons, each of which makes a tick, and closes them. It gives what one takes of
// memory until then.
func BenchmarkDungeon(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*place, 200)
	for i := range all {
		all[i] = dungeon(b)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		dungeon(b).world.Close()
	}
	b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/1000/float64(len(all)), "KB/world")
	for _, d := range all {
		d.world.Close()
	}
}

func dungeon(b *testing.B) *place {
	d, err := newPlace(2, time.Second, nil)
	if err == nil {
		_, err = d.cave.Create(d.world)
	}
	if err == nil {
		err = d.systems.Step(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}
