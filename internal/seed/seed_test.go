package seed_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/seed"
)

// TestOf prints two seeds, which differ.
func TestOf(t *testing.T) {
	a, b := seed.Of(t), seed.Of(t)
	require.NotEqual(t, a, b)
	t.Log("seeds", a, b)
}

// TestVariable runs TestOf in other processes. The variable that it logs draws the same seeds
// again.
func TestVariable(t *testing.T) {
	seeds, variable := regexp.MustCompile(`seeds \d+ \d+`), regexp.MustCompile(seed.Variable+`=\d+`)
	run := func(env string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOf$", "-test.v")
		cmd.Env = []string{env, "GORACE=" + os.Getenv("GORACE")}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("the system does not run this program by itself: it is run by an emulator, as qemu-user is")
		}
		return string(out)
	}
	first, other := run("X="), run("X=")
	require.NotEqual(t, seeds.FindString(first), seeds.FindString(other))
	again := run(variable.FindString(first))
	require.NotEmpty(t, seeds.FindString(again))
	require.Equal(t, seeds.FindString(first), seeds.FindString(again))
	require.Contains(t, run(seed.Variable+"=x"), `ATOLL_SEED is "x"; want a number`)
}
