package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/atoll-sim/atoll/world"
)

const inspectAbout = `Inspect asks the world at an inspector's address, and writes what it says as
JSON. What changes the world takes the inspector's token.

  stats                           what it does
  plan                            its systems in order, and what they wait for
  problems                        ticks that took too long, panics, and the like
  query <text> [limit]            entities, as in: query 'Position, Health.HP < 20'
  entity <handle>                 one entity
  trace <file>                    the next 100 ticks, for a viewer of trace events such as Perfetto
  pause, resume, step [ticks]     stop the world, go on, or make some ticks while paused
  enable <system>, disable <system>
  set <handle> <field> <value>    change a field, as in: set 3:17@1 Health.HP 20
  destroy <handle>

It exits with 1 if a change was not applied.`

// inspectorFlags adds the flags that say which inspector.
func inspectorFlags(f *flag.FlagSet) (addr, token *string) {
	addr = f.String("addr", inspectorDefault, "`address` of the inspector: host:port or a URL")
	token = new(os.Getenv("ATOLL_TOKEN"))
	f.Var(secret{token}, "token", "the inspector's `secret`; default: what ATOLL_TOKEN is set to")
	return addr, token
}

// inspectWord is a word that may follow inspect.
type inspectWord struct {
	least, most int // arguments
	run         func(ctx context.Context, c *client, args []string) ([]byte, error)
}

var inspectWords = map[string]inspectWord{
	"stats": get("/api/stats"), "plan": get("/api/plan"), "problems": get("/api/problems"),
	"query": {1, 2, func(ctx context.Context, c *client, args []string) ([]byte, error) {
		v := url.Values{"q": args[:1]}
		if len(args) > 1 {
			v.Set("limit", args[1])
		}
		return c.get(ctx, "/api/query", v)
	}},
	"entity": {1, 1, func(ctx context.Context, c *client, args []string) ([]byte, error) {
		return c.get(ctx, "/api/entity", url.Values{"handle": args})
	}},
	"trace":   {1, 1, trace},
	"pause":   post("/api/pause"),
	"resume":  post("/api/resume"),
	"step":    {0, 1, step},
	"enable":  {1, 1, enable(true)},
	"disable": {1, 1, enable(false)},
	"set":     {3, 3, set},
	"destroy": {1, 1, func(ctx context.Context, c *client, args []string) ([]byte, error) {
		return c.post(ctx, "/api/entity/destroy", map[string]any{"handle": args[0]})
	}},
}

func get(path string) inspectWord {
	return inspectWord{0, 0, func(ctx context.Context, c *client, _ []string) ([]byte, error) { return c.get(ctx, path, nil) }}
}

func post(path string) inspectWord {
	return inspectWord{0, 0, func(ctx context.Context, c *client, _ []string) ([]byte, error) {
		return c.post(ctx, path, map[string]any{})
	}}
}

func step(ctx context.Context, c *client, args []string) ([]byte, error) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil {
			return nil, fmt.Errorf("%q is no number of ticks", args[0])
		}
	}
	return c.post(ctx, "/api/step", map[string]any{"ticks": n})
}

func enable(on bool) func(context.Context, *client, []string) ([]byte, error) {
	return func(ctx context.Context, c *client, args []string) ([]byte, error) {
		return c.post(ctx, "/api/systems", map[string]any{"name": args[0], "enabled": on})
	}
}

func set(ctx context.Context, c *client, args []string) ([]byte, error) {
	component, path, _ := strings.Cut(args[1], ".")
	var value any = args[2]
	if truth, err := strconv.ParseBool(args[2]); err == nil && (args[2] == "true" || args[2] == "false") {
		value = truth
	}
	return c.post(ctx, "/api/entity/set", map[string]any{"handle": args[0], "component": component, "path": path, "value": value})
}

// traceTicks is how many ticks trace records.
const traceTicks = 100

// trace records ticks, waits for them and writes them to a file.
func trace(ctx context.Context, c *client, args []string) ([]byte, error) {
	got, err := c.post(ctx, "/api/record", map[string]any{"ticks": traceTicks})
	if err != nil {
		return nil, err
	}
	var asked struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(got, &asked); err != nil {
		return nil, err
	}
	if err := recorded(ctx, c, asked.ID); err != nil {
		return nil, err
	}
	if got, err = c.get(ctx, "/api/recordings/"+asked.ID, url.Values{"format": {"perfetto"}}); err != nil {
		return nil, err
	}
	if err := os.WriteFile(args[0], got, 0o600); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"file": args[0], "bytes": len(got), "ticks": traceTicks})
}

// recordingPoll is how often trace checks whether a recording is done.
const recordingPoll = 100 * time.Millisecond

// recorded waits for a recording to be done.
func recorded(ctx context.Context, c *client, id string) error {
	type recording struct {
		ID   string `json:"id"`
		Done bool   `json:"done"`
	}
	poll := time.NewTicker(recordingPoll)
	defer poll.Stop()
	for {
		var all struct {
			Recordings []recording `json:"recordings"`
		}
		if err := c.read(ctx, &all, "/api/recordings", nil); err != nil {
			return err
		}
		switch i := slices.IndexFunc(all.Recordings, func(r recording) bool { return r.ID == id }); {
		case i < 0:
			return errors.New("the recording is gone: others were made since")
		case all.Recordings[i].Done:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// runInspect is the inspect command.
func runInspect(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := newFlags("inspect", inspectAbout)
	f.Usage = func() {
		_, _ = fmt.Fprintf(f.Output(), "%s\n\nUsage: atoll inspect [flags] <word> [arguments]\n\n", inspectAbout)
		f.PrintDefaults()
	}
	addr, token := inspectorFlags(f)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(stdout)
		f.Usage()
		return exitOK
	} else if err != nil {
		return usage(f, err, stderr)
	}
	x, ok := inspectWords[f.Arg(0)]
	switch n := f.NArg() - 1; {
	case f.NArg() == 0:
		return usage(f, errors.New("say what to ask"), stderr)
	case !ok:
		return usage(f, fmt.Errorf("unknown word %q", f.Arg(0)), stderr)
	case n < x.least || n > x.most:
		return usage(f, fmt.Errorf("%s takes %s, and got %d", f.Arg(0), counted(x.least, x.most), n), stderr)
	}
	c, err := newClient(*addr, *token)
	if err != nil {
		return usage(f, err, stderr)
	}
	got, err := x.run(ctx, c, f.Args()[1:])
	if err != nil {
		return failed(f, err, stderr)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, got, "", "  "); err != nil {
		return failed(f, fmt.Errorf("%s does not answer with JSON; is that an inspector?", c.base), stderr)
	}
	_, _ = fmt.Fprintf(stdout, "%s\n", harmless(strings.TrimSpace(text.String())))
	var change struct {
		Outcome string `json:"outcome"`
	}
	if json.Unmarshal(got, &change) == nil && change.Outcome != "" && change.Outcome != world.Applied.String() {
		return exitFailed // for example the entity is gone, or the world is paused
	}
	return exitOK
}

// counted describes how many arguments a word takes.
func counted(least, most int) string {
	switch {
	case most == 0:
		return "no argument"
	case least == most && most == 1:
		return "1 argument"
	case least == most:
		return fmt.Sprintf("%d arguments", most)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}

// usage prints what is wrong with a command line.
func usage(f *flag.FlagSet, err error, stderr io.Writer) int {
	_, _ = fmt.Fprintf(stderr, "%s: %v\n%s -help tells more\n", f.Name(), err, f.Name())
	return exitUsage
}

// client sends requests to an inspector.
type client struct {
	base  string // its address, without a slash at the end
	token string
}

const (
	inspectorDefault = "http://127.0.0.1:8080"
	answerMax        = 256 << 20 // bytes; recordings are long
	answerWait       = 30 * time.Second
)

// newClient makes a client for an address, as in "127.0.0.1:8080" or "https://example.org/world".
func newClient(addr, token string) (*client, error) {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of an inspector; want host:port or a URL", addr)
	}
	return &client{strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/"), token}, nil
}

// get reads what is at a path.
func (c *client) get(ctx context.Context, path string, values url.Values) ([]byte, error) {
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return c.ask(ctx, http.MethodGet, path, nil)
}

// post asks for a change.
func (c *client) post(ctx context.Context, path string, body any) ([]byte, error) {
	if c.token == "" {
		return nil, errors.New("a change takes the inspector's token; say -token or set ATOLL_TOKEN")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, http.MethodPost, path, text)
}

// ask sends a request, and returns the answer, or what the inspector says is wrong.
func (c *client) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w; start a program with an inspector there, such as: atoll demo -duration 0 -inspect 127.0.0.1:8080", err)
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read to its end
	got, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		var why struct {
			Error string `json:"error"`
			At    *int   `json:"at"`
		}
		if json.Unmarshal(got, &why) != nil || why.Error == "" {
			return nil, fmt.Errorf("%s answers %d %s; is that an inspector?", c.base, answer.StatusCode, http.StatusText(answer.StatusCode))
		}
		if why.At != nil {
			return nil, fmt.Errorf("%s (column %d)", harmless(why.Error), *why.At)
		}
		return nil, errors.New(harmless(why.Error))
	}
	return got, nil
}

// harmless escapes characters that control a terminal or reorder text, because names and texts
// may come from players.
func harmless(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r > 0xFFFF || !unicode.In(r, unicode.Cc, unicode.Cf) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// read reads what is at a path as JSON.
func (c *client) read(ctx context.Context, to any, path string, values url.Values) error {
	got, err := c.get(ctx, path, values)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(got, to); err != nil {
		return fmt.Errorf("%s%s is not what an inspector says: %w", c.base, path, err)
	}
	return nil
}
