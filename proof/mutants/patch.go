package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// patch is one deliberate bug.
type patch struct {
	name string   // of its file, without the ending
	bug  string   // what is wrong with it applied
	test []string // arguments of go test that must fail
	diff []byte
}

// moduleRoot returns the directory of the library's module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the top of the checkout: %w; run this inside a clone", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// readPatches reads all patches, by name.
func readPatches(root string) ([]patch, error) {
	files, err := filepath.Glob(filepath.Join(root, "proof", "mutants", "patches", "*.patch"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("there are no patches in proof/mutants/patches"))
	}
	all := make([]patch, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p, err := parsePatch(strings.TrimSuffix(filepath.Base(file), ".patch"), text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// parsePatch reads the header of a patch.
func parsePatch(name string, text []byte) (patch, error) {
	p := patch{name: name}
	header, diff, ok := bytes.Cut(text, []byte("\n\n"))
	if !ok {
		return p, fmt.Errorf("%s: no empty line between the header and the diff", name)
	}
	for _, line := range strings.Split(string(header), "\n") {
		switch key, value, _ := strings.Cut(line, ": "); key {
		case "Bug":
			p.bug = value
		case "Test":
			p.test = strings.Fields(value)
		default:
			return p, fmt.Errorf("%s: header line %q; it holds Bug and Test", name, line)
		}
	}
	if p.bug == "" || len(p.test) == 0 {
		return p, fmt.Errorf("%s: the header needs a line Bug and a line Test", name)
	}
	p.diff = diff
	return p, nil
}

// changed finds the files that a diff changes.
var changed = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)`)

// apply writes the patched copies of the files below dir, and returns their paths
// in the checkout, relative to its root.
func (p *patch) apply(ctx context.Context, root, dir string) ([]string, error) {
	var files []string
	for _, m := range changed.FindAllSubmatch(p.diff, -1) {
		file := filepath.FromSlash(string(m[1]))
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errors.New("the diff changes no file")
	}
	cmd := exec.CommandContext(ctx, "git", "apply", "--recount", "-C1", "-")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(p.diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // dir is in no repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the patch does not apply; make it anew for the code as it is:\n%s", out)
	}
	return files, nil
}

// try runs the tests with the bug. It returns an error if they pass, or if the bug
// could not be tried.
func (p *patch) try(ctx context.Context, root string, limit time.Duration) error {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := p.apply(ctx, root, dir)
	if err != nil {
		return err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, file := range files {
		overlay.Replace[filepath.Join(root, file)] = filepath.Join(dir, file)
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return err
	}
	args := append([]string{"test", "-overlay", list, "-count=1", "-short", "-vet=off", "-timeout", limit.String()}, p.test...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return fmt.Errorf("NOT NOTICED by go test %s", strings.Join(p.test, " "))
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return fmt.Errorf("the patched code does not compile:\n%s", out)
	case bytes.Contains(out, []byte("--- FAIL")) || bytes.Contains(out, []byte("panic: ")) || bytes.Contains(out, []byte("fatal error: ")) || bytes.Contains(out, []byte("DATA RACE")):
		return nil
	}
	return fmt.Errorf("go test failed for another reason:\n%s", out)
}
