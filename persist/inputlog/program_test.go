package inputlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// childPath tells a process of this test that it is a program that writes a log to that file.
const childPath = "ATOLL_INPUTLOG_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := os.WriteFile(path, writeCounted(1), 0o666); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newCounted makes a world in which one entity grows by a number in each tick.
func newCounted(step uint64) (*world.World, *scheduler.Scheduler) {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Body](w, "body")
	if _, err := world.NewBundle[Plain](w).Create(w, Plain{}); err != nil {
		panic(err)
	}
	return w, scheduler.New(w, scheduler.Options{}).MustAdd("grow", func(b *world.Build) func(*world.Context) {
		bodies := world.Write[Body](b)
		all := b.Query(bodies)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				bodies.Slice(ch)[0].Sum += step
			}
		}
	})
}

// writeCounted returns a log of such a world.
func writeCounted(step uint64) []byte {
	w, s := newCounted(step)
	log := new(bytes.Buffer)
	r, err := inputlog.NewRecorder(w, log, inputlog.Options{Content: []byte("tables")})
	for range 5 {
		err = errors.Join(err, s.Step(context.Background()))
	}
	if err = errors.Join(err, r.Close()); err != nil {
		panic(err)
	}
	return log.Bytes()
}

// playCounted plays a log, and returns the error of the Player.
func playCounted(t *testing.T, log []byte, step uint64, content string) error {
	l, err := inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	if content != "" {
		l.SetContent([]byte(content))
	}
	w, s := newCounted(step)
	p, err := l.Play(w, nil)
	require.NoError(t, err)
	for p.Next() {
		require.NoError(t, s.Step(t.Context()))
	}
	return p.Err()
}

// byOther returns a log that another program has written: a copy of this one whose file is longer.
func byOther(t *testing.T, env ...string) []byte {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	other, log := filepath.Join(dir, "other.exe"), filepath.Join(dir, "log")
	if len(env) == 0 {
		data = append(data, 0)
	}
	require.NoError(t, os.WriteFile(other, data, 0o777))
	cmd := exec.Command(other)
	cmd.Env = append(append(os.Environ(), childPath+"="+log), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	written, err := os.ReadFile(log)
	require.NoError(t, err)
	return written
}

// TestOtherProgram plays the log of another program: it may, if it does the same; otherwise the
// error says that the programs differ.
func TestOtherProgram(t *testing.T) {
	log := byOther(t)
	require.NoError(t, playCounted(t, log, 1, "tables"))
	require.NoError(t, playCounted(t, log, 1, "other tables"))
	err := playCounted(t, log, 2, "tables")
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorIs(t, err, inputlog.ErrOtherProgram)
	l, _ := inputlog.Open(bytes.NewReader(log))
	there, here := l.Program(), inputlog.ThisProgram()
	require.NotZero(t, here.Executable)
	require.NotEqual(t, here.Executable, there.Executable)
	require.ErrorContains(t, err, fmt.Sprintf("%016x", there.Executable))
	require.ErrorContains(t, err, fmt.Sprintf("%016x", here.Executable))
	there.Executable, there.Content = here.Executable, 0
	require.Equal(t, here, there)
}

// TestSameProgram plays a log of this program that differs: then that is no other program, unless its
// content is another one.
func TestSameProgram(t *testing.T) {
	log := writeCounted(1)
	require.NoError(t, playCounted(t, log, 1, "tables"))
	require.NoError(t, playCounted(t, log, 1, "other tables"))
	for _, content := range []string{"", "tables"} {
		err := playCounted(t, log, 2, content)
		require.ErrorIs(t, err, inputlog.ErrDiffers)
		require.NotErrorIs(t, err, inputlog.ErrOtherProgram)
		require.ErrorContains(t, err, "does not differ from this one")
	}
	err := playCounted(t, log, 2, "other tables")
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorIs(t, err, inputlog.ErrOtherProgram)
	require.ErrorContains(t, err, "Options.Content is another")
}

// TestFloats plays the log of this program on a processor without FMA, as far as package math knows.
func TestFloats(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("package math asks the processor on amd64")
	}
	if !hasFMA() {
		t.Skip("this processor has no FMA")
	}
	err := playCounted(t, byOther(t, "GODEBUG=cpu.fma=off"), 2, "tables")
	require.ErrorIs(t, err, inputlog.ErrOtherProgram)
	require.ErrorContains(t, err, "package math computes other floats")
	require.NotContains(t, err.Error(), "this is", "the file is the same")
}

// hasFMA reports whether Linux says that the processor has FMA, and package math may use it.
func hasFMA() bool {
	info, _ := os.ReadFile("/proc/cpuinfo")
	return bytes.Contains(info, []byte(" fma ")) && os.Getenv("GODEBUG") == ""
}

// TestProgramString shows programs as people know them.
func TestProgramString(t *testing.T) {
	at := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	for want, p := range map[string]inputlog.Program{
		"v1.4.2 (3f2a81c0d2e4, 2026-11-20)":                     {Version: "v1.4.2", Revision: "3f2a81c0d2e4aaaa", Time: at},
		"v1.4.2":                                                {Version: "v1.4.2"},
		"a build without version (abc, modified)":               {Revision: "abc", Modified: true},
		"a build without version (executable 00000000000000ff)": {Executable: 255},
	} {
		require.Equal(t, want, p.String())
	}
}
