package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// header has the facts that readers of the numbers need.
type header struct {
	commit, cpu, version, command, date string
	procs                               int
	missing                             string // what there was no time for, in a sentence
}

// newHeader describes this run. out is a page, which may differ from the commit.
func newHeader(out string) header {
	return header{
		commit:  commit(out),
		cpu:     cpuModel(),
		version: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		command: strings.Join(append([]string{"go run ./bench/compare"}, os.Args[1:]...), " "),
		date:    time.Now().UTC().Format(time.DateOnly),
		procs:   runtime.GOMAXPROCS(0),
	}
}

// commit names the commit of the working directory, and says "dirty" if files
// other than the page differ from it.
func commit(page string) string {
	hash, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	status := []string{"status", "--porcelain", "--", ":/"}
	if filepath.IsLocal(page) { // git refuses paths outside of the repository
		status = append(status, ":!"+page)
	}
	if changed, err := git(status...); err != nil || changed != "" {
		return hash + " dirty"
	}
	return hash
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}

func (h header) lines() []string {
	return []string{
		"commit: " + h.commit,
		"CPU: " + h.cpu,
		"Go: " + h.version,
		"GOMAXPROCS: " + strconv.Itoa(h.procs),
		"date: " + h.date,
		"command: " + h.command,
	}
}
