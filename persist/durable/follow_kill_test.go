package durable_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
)

// followPath tells a process of this test to follow the directory world of a directory to the
// directory copy.
const followPath = "ATOLL_DURABLE_FOLLOW"

func followTillKilled(path string) {
	fmt.Println("error", durable.Follow(context.Background(), filepath.Join(path, "world"), filepath.Join(path, "copy"),
		durable.FollowOptions{Every: time.Millisecond}))
	os.Exit(1)
}

// TestFollowKill kills a server, and the process that follows it, in the middle of what they do. The
// copy can be opened each time, and once it has caught up it has all that clients were told.
func TestFollowKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process is killed otherwise there")
	}
	path := t.TempDir()
	world, copied := filepath.Join(path, "world"), filepath.Join(path, "copy")
	dice := rand.New(rand.NewPCG(seed.Of(t), 8))
	b := &teller{t: t, given: map[string]uint64{}, named: map[uint64]bool{}, made: map[uint64]bool{}, destroyed: map[string]bool{}, gone: map[string]bool{}}
	opened := 0
	for range *kills {
		lives, followers := make(chan struct{}), 1+dice.IntN(3)
		go func() { // followers, each of which is killed
			defer close(lives)
			for range followers {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), followPath+"="+path)
				if cmd.Start() != nil {
					return
				}
				time.Sleep(40 * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		}()
		b.life(t, world, rand.New(rand.NewPCG(dice.Uint64(), 0)))
		<-lives
		if open(t, copied) {
			opened++
		}
		if _, err := os.Stat(filepath.Join(world, "incarnation")); err != nil {
			continue // it was killed too early
		}
		require.NoError(t, durable.Follow(t.Context(), world, copied, durable.FollowOptions{Once: true}))
		require.True(t, open(t, copied))
		serveCopy(t, b, copied)
	}
	t.Logf("%d copies opened that a killed process has left", opened)
}

// open opens a copy of a copy. It returns false if that has no snapshot yet.
func open(t *testing.T, copied string) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	if os.CopyFS(path, os.DirFS(copied)) != nil {
		return false // there is none
	}
	if _, err := os.Stat(filepath.Join(path, "copy")); err != nil {
		return false
	}
	y := newBank(1)
	st, err := y.open(path)
	if err != nil {
		require.ErrorContains(t, err, "has not copied a snapshot yet")
		return false
	}
	require.NoError(t, st.Close())
	return true
}

// serveCopy serves a copy of a copy, which must have what clients were told.
func serveCopy(t *testing.T, b *teller, copied string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(path, os.DirFS(copied)))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path)
	in, err := cmd.StdinPipe() // the server ends with it
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	alive := b.alive
	_, ok := b.read(bufio.NewScanner(out), "open")
	require.True(t, ok, "the copy cannot be served")
	b.alive = alive
	require.NoError(t, in.Close())
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
