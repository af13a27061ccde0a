package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"
)

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
