package inputlog

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
)

// Program says which program wrote a log, and what decides what it computes. A log has it, so that
// an error about a replay that differs can say whether the program is another one. It refuses
// nothing: another build may play a log if it computes the same.
//
// Version, Revision, Time and Modified are what the go command has put into the program, for
// people. They are empty in tests, and in programs that are built otherwise.
type Program struct {
	Version  string    // of the main module, such as "v1.4.2"
	Revision string    // in its version control
	Time     time.Time // of the revision, to the second
	Modified bool      // files were changed since the revision

	Arch       string // GOARCH, and the level for which it was built: "amd64 v1"
	Executable uint64 // a hash of its file, or 0 if that cannot be read
	Floats     uint64 // a hash of what package math computes by this build on this processor
	Content    uint64 // a hash of Options.Content, or 0 if there is none
}

// ThisProgram returns the program that runs, without Content. The first call reads the file of the
// program, which takes some milliseconds; the others return what that has found. If the file was
// replaced before the first call, on a system other than Linux, Executable is of the new file. Safe
// from any goroutine.
func ThisProgram() Program { return thisProgram() }

var thisProgram = sync.OnceValue(func() Program {
	p := Program{Arch: runtime.GOARCH, Executable: hashExecutable(), Floats: hashFloats()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	if v := info.Main.Version; v != "(devel)" {
		p.Version = v
	}
	level := "GO" + strings.ToUpper(strings.TrimSuffix(runtime.GOARCH, "le"))
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.time":
			p.Time, _ = time.Parse(time.RFC3339, s.Value) // zero if it is none
		case "vcs.modified":
			p.Modified = s.Value == "true"
		case level:
			p.Arch += " " + s.Value
		}
	}
	return p
})

// hashExecutable hashes the file of the program, or returns 0 if it cannot be read.
func hashExecutable() uint64 {
	file, err := os.Open("/proc/self/exe") // the file that runs, even if another has its name by now
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return 0
		}
		if file, err = os.Open(path); err != nil {
			return 0
		}
	}
	defer file.Close() // it was only read
	h := xxh3.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{file}, make([]byte, 256<<10)); err != nil {
		return 0
	}
	return h.Sum64()
}

// hashFloats hashes what functions compute that round by the build or the processor: see
// docs/determinism.md, other machines.
func hashFloats() uint64 {
	var b []byte
	x := 0.37
	for range 128 {
		x = math.Mod(x*1.37+0.11, 7)
		for _, f := range [...]func(float64) float64{math.Exp, math.Exp2, math.Log, math.Sin, math.Cos, math.Tan, math.Atan, math.Cbrt, math.Tanh, math.Erf} {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f(x)))
		}
		for _, f := range [...]func(a, b float64) float64{math.Pow, math.Hypot, math.Atan2, sumOfProducts} {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f(x, 1/x)))
		}
	}
	return xxh3.Hash(b)
}

// sumOfProducts is what a build may fuse.
//
//go:noinline
func sumOfProducts(a, b float64) float64 { return a*a + b*b }

// hashContent hashes Options.Content.
func hashContent(content []byte) uint64 {
	if len(content) == 0 {
		return 0
	}
	return max(1, xxh3.Hash(content))
}

// String returns what people know the program by, such as "v1.4.2 (3f2a81c0d2e4, 2026-11-20)". A
// program without a version is known by the hash of its file.
func (p Program) String() string {
	var all []string
	if p.Revision != "" {
		all = append(all, p.Revision[:min(12, len(p.Revision))])
	}
	if !p.Time.IsZero() {
		all = append(all, p.Time.UTC().Format(time.DateOnly))
	}
	if p.Modified {
		all = append(all, "modified")
	}
	if p.Version == "" && p.Revision == "" {
		all = append(all, fmt.Sprintf("executable %016x", p.Executable))
	}
	name := p.Version
	if name == "" {
		name = "a build without version"
	}
	if len(all) == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(all, ", "))
}

// unlike returns in which ways another program differs from the one that wrote a log, or nil. What
// is not known of one of them is no difference.
func (p Program) unlike(here Program) (ways []string) {
	if p.Executable != here.Executable && p.Executable != 0 && here.Executable != 0 {
		there, now := p.String(), here.String()
		if there == now { // built twice of the same sources
			there, now = fmt.Sprintf("%s, executable %016x,", there, p.Executable), fmt.Sprintf("%s, executable %016x", now, here.Executable)
		}
		ways = append(ways, fmt.Sprintf("%s wrote it, this is %s", there, now))
	}
	switch {
	case p.Arch != here.Arch:
		ways = append(ways, fmt.Sprintf("it ran on %s, this is %s", p.Arch, here.Arch))
	case p.Floats != here.Floats:
		ways = append(ways, "package math computes other floats here than there, as processors with and without FMA do")
	}
	if p.Content != here.Content && here.Content != 0 {
		ways = append(ways, "Options.Content is another")
	}
	return ways
}

// append appends the program to a header.
func (p *Program) append(dst []byte) []byte {
	dst = appendBytes(appendBytes(appendBytes(dst, p.Version), p.Revision), p.Arch)
	at := uint64(0) // none
	if !p.Time.IsZero() {
		at = uint64(p.Time.Unix())
	}
	dst = append(binary.AppendUvarint(dst, at), bit(p.Modified))
	for _, x := range [...]uint64{p.Executable, p.Floats, p.Content} {
		dst = binary.LittleEndian.AppendUint64(dst, x)
	}
	return dst
}

// read reads what append wrote. After an error in the cursor it has a part of it.
func (p *Program) read(c *cursor) {
	p.Version, p.Revision, p.Arch = string(c.bytes()), string(c.bytes()), string(c.bytes())
	if at := c.number(); at != 0 {
		p.Time = time.Unix(int64(at), 0).UTC()
	}
	p.Modified = c.below(2) != 0
	p.Executable, p.Floats, p.Content = c.word(), c.word(), c.word()
}
