//go:build unix

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var clients = flag.Int("clients", 0, "how many clients TestLoad has")

const (
	loadAddress = "ZONE_LOAD_ADDRESS" // of the server, in the environment of the process of the clients
	warmUp      = 20 * time.Second
	measured    = 30 * time.Second
)

// received is what the process of the clients tells, in bytes a second and packets a second.
type received struct{ Mean, Most, Packets float64 }

// TestLoad measures a server with so many clients, in a process of their own, who walk from one
// place to another all over the zone.
func TestLoad(t *testing.T) {
	if *clients == 0 {
		t.Skip("needs -clients 1000")
	}
	if address := os.Getenv(loadAddress); address != "" {
		if err := json.NewEncoder(os.Stdout).Encode(load(t, address)); err != nil {
			t.Fatal(err)
		}
		os.Exit(0) // what the test package would print is no JSON
	}
	s := serve(t, t.TempDir())
	c := exec.Command(os.Args[0], "-test.run=^TestLoad$", fmt.Sprintf("-clients=%d", *clients))
	c.Env = append(os.Environ(), loadAddress+"="+s.address)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(warmUp)
	stats := s.stats(t)
	t.Logf("while they come and spread: tick p50 %v, p99 %v, max %v", stats.Time.Quantile(0.5), stats.Time.Quantile(0.99), stats.Time.Max())
	before := processorTime(t)
	time.Sleep(measured)
	took := processorTime(t) - before
	var r received
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	stats = s.stats(t)
	t.Logf("%d clients, from the first on: tick p50 %v, p99 %v, max %v; %d ticks, %d over the budget", *clients,
		stats.Time.Quantile(0.5), stats.Time.Quantile(0.99), stats.Time.Max(), stats.Ticks, stats.Overruns)
	t.Logf("each gets %.0f bytes a second in %.1f packets, the most in any second %.0f (%.0f kbit)",
		r.Mean, r.Packets, r.Most, r.Most*8/1000)
	t.Logf("the server takes %.2f s of processor time a second", took.Seconds()/measured.Seconds())
	if r.Most > 256_000/8*1.1 { // a packet may be late, and a row longer
		t.Errorf("a client got %.0f bytes in a second", r.Most)
	}
}

func (s *server) stats(t *testing.T) (stats scheduler.Stats) {
	if err := <-s.systems.Between(func(*world.World) { s.systems.Stats(&stats) }); err != nil {
		t.Fatal(err)
	}
	return stats
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load plays as all clients.
func load(t *testing.T, address string) (r received) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	began := time.Now()
	all := joinAll(t, ctx, &server{address: address}, *clients)
	bytes, packets := make([]int, len(all)), make([]int, len(all))
	for second := range int((warmUp + measured).Seconds()) {
		for i, p := range all {
			if (i+second)%5 == 0 {
				if err := p.walk(ctx, rand.Float64()*side, rand.Float64()*side, byte(i%2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Until(began.Add(time.Duration(second+1) * time.Second)))
		for i, p := range all {
			p.mu.Lock()
			if p.err != nil {
				t.Fatal(p.name, p.err)
			}
			if time.Since(began) > warmUp {
				r.Mean += float64(p.bytes - bytes[i])
				r.Packets += float64(p.packets - packets[i])
				r.Most = max(r.Most, float64(p.bytes-bytes[i]))
			}
			bytes[i], packets[i] = p.bytes, p.packets
			p.mu.Unlock()
		}
	}
	each := float64(len(all)) * measured.Seconds()
	return received{r.Mean / each, r.Most, r.Packets / each}
}
