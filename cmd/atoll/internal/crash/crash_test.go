package crash_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/crash"
	"github.com/atoll-sim/atoll/internal/seed"
)

func TestMain(m *testing.M) {
	if os.Getenv(crash.ServerEnv) != "" {
		if err := crash.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// run runs a few kills.
func run(t *testing.T, change func(*crash.Config)) (*crash.Summary, string) {
	t.Helper()
	c := crash.Default()
	c.Kills, c.Clients, c.Seed, c.State = 6, 8, seed.Of(t), filepath.Join(t.TempDir(), "state")
	if testing.Short() {
		c.Kills = 3
	}
	change(&c)
	var live bytes.Buffer
	s, err := crash.Run(t.Context(), c, os.Args[0], &live)
	require.NoError(t, err, live.String())
	var text bytes.Buffer
	s.Write(&text)
	t.Log(text.String())
	return s, text.String()
}

// TestRun kills a server that waits before it answers, and one whose ticks are sealed.
func TestRun(t *testing.T) {
	for name, sealed := range map[string]bool{"waits": false, "sealed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, text := run(t, func(c *crash.Config) { c.Sealed = sealed })
			require.True(t, s.OK(), text)
			require.Contains(t, text, "\n0 told and lost, 0 doubled\naudit ok\n")
		})
	}
}

// TestFaults plants faults in the server, which the audit must find.
func TestFaults(t *testing.T) {
	for _, fault := range crash.Faults {
		t.Run(fault.Want, func(t *testing.T) {
			if testing.Short() && fault.Kills > 20 {
				t.Skip("it takes half a minute at times")
			}
			t.Parallel()
			s, text := run(t, func(c *crash.Config) {
				c.Plant(fault)
				c.Kills = fault.Kills
			})
			require.False(t, s.OK())
			require.Regexp(t, fault.Want, text)
			require.Contains(t, text, "\nWRONG ")
			require.Less(t, s.Kills, fault.Kills, "it stops")
		})
	}
}

// TestTowns kills linked towns, which wait before they answer, or whose ticks are sealed.
func TestTowns(t *testing.T) {
	for name, sealed := range map[string]bool{"wait": false, "sealed": true} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && sealed {
				t.Skip("TestCrashWorlds is sealed")
			}
			t.Parallel()
			s, text := run(t, func(c *crash.Config) {
				if c.Worlds, c.Sealed = 3, sealed; testing.Short() {
					c.Worlds, c.Clients, c.Kills = 2, 4, 2
				}
			})
			require.True(t, s.OK(), text)
			require.Regexp(t, `\n[23] worlds; [1-9]\d* payments arrived in another, \d+ came back\n`, text)
			require.Contains(t, text, "\n0 told and lost, 0 doubled\naudit ok\n")
		})
	}
}

// TestTownFaults plants faults in towns, which the audit must find.
func TestTownFaults(t *testing.T) {
	for _, fault := range crash.TownFaults {
		t.Run(fault.Want, func(t *testing.T) {
			if testing.Short() && fault.Kills > 100 {
				t.Skip("it takes longer at times")
			}
			t.Parallel()
			s, text := run(t, func(c *crash.Config) {
				c.Plant(fault)
				c.Worlds, c.Kills = 2, fault.Kills
			})
			require.False(t, s.OK())
			require.Regexp(t, fault.Want, text)
			require.Less(t, s.Kills, fault.Kills, "it stops")
		})
	}
}

// TestState refuses a directory with files, and settings out of range.
func TestState(t *testing.T) {
	c := crash.Default()
	c.State = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(c.State, "x"), nil, 0o600))
	_, err := crash.Run(t.Context(), c, os.Args[0], &bytes.Buffer{})
	require.ErrorContains(t, err, "has files of an earlier run")
	_, err = crash.Run(t.Context(), crash.Config{Hz: 1001, Worlds: 17}, "", nil)
	require.ErrorContains(t, err, "crash: Kills is 0, want 1 to 1000000")
	require.ErrorContains(t, err, "Worlds is 17, want 1 to 16")
	require.ErrorContains(t, err, "crash: Hz is 1001, want 1 to 1000")
}

// TestProgram runs a program that cannot be, and one that says nothing.
func TestProgram(t *testing.T) {
	c := crash.Default()
	c.State = filepath.Join(t.TempDir(), "state")
	programs := []string{filepath.Join(c.State, "none")}
	if path, err := exec.LookPath("false"); err == nil {
		programs = append(programs, path)
	}
	for _, program := range programs {
		_, err := crash.Run(t.Context(), c, program, &bytes.Buffer{})
		require.ErrorContains(t, err, "crash: server 1: ")
	}
}
