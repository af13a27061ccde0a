package inspector

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience is how long a page may take to show something, on a machine that does other work too.
const patience = 20 * time.Second

// tab is a page in a browser, and what it complained about.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// browser starts a browser without a window for one test.
func browser(t *testing.T) *tab {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
	i := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if i < 0 {
		t.Skip("there is no browser to test the inspector's page with: install the package chromium")
	}
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(names[i]), chromedp.NoSandbox,
		chromedp.WindowSize(1280, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	_, err := chromedp.Run(ctx, chromedp.Title()) // starts it; a deadline here would end it later
	require.NoError(t, err)
	go b.listen(chromedp.Console(ctx))
	return b
}

// listen keeps what goes wrong in the page: errors of scripts, of the policy for content, of
// requests.
func (b *tab) listen(console func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range console {
		if err != nil {
			return
		}
		if kind := string(m.Type); m.IsException() || kind == "error" || strings.HasPrefix(kind, "warn") {
			b.mu.Lock()
			b.faults = append(b.faults, fmt.Sprintf("%s %s: %s %s", m.Source, kind, m.Text, m.URL))
			b.mu.Unlock()
		}
	}
}

// clean fails the test if the page complained, other than about what is allowed.
func (b *tab) clean(allowed ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		if !slices.ContainsFunc(allowed, func(s string) bool { return strings.Contains(fault, s) }) {
			b.t.Error(fault)
		}
	}
	b.faults = nil
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// is evaluates an expression in the page, once more if the page is loaded anew meanwhile.
func is[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil && strings.Contains(err.Error(), "target navigated") {
		value, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	}
	require.NoError(b.t, err, expression)
	return value
}

// until waits for an expression to hold.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !is[bool](b, "!!("+expression+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			text := is[string](b, "document.body.innerText")
			require.Failf(b.t, "not in time", "%s\nThe page shows:\n%s", expression, text[:min(len(text), 1500)])
		}
	}
}

// sees waits for a text on the page, or within the element of a selector.
func (b *tab) sees(text string, within ...string) {
	b.t.Helper()
	where := append(within, "body")[0]
	b.until(fmt.Sprintf("document.querySelector(%s)?.innerText.includes(%s)", quote(where), quote(text)))
}

// press finds the visible button or link with a name, as a screen reader says it, and presses it
// once it is not busy.
func (b *tab) press(name string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button, a, summary')].find(e =>
		e.checkVisibility() && !e.hasAttribute('aria-busy') && (e.getAttribute('aria-label') ?? e.innerText).trim() === %s)`, quote(name))
	b.until(find)
	b.do(chromedp.Evaluate[chromedp.Void]("(" + find + ").click()"))
}

// write writes into an input, over what is there.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	input := "document.querySelector(" + quote(selector) + ")"
	b.until(input + "?.checkVisibility()")
	b.do(chromedp.Evaluate[chromedp.Void](input+".select?.()"), chromedp.SendKeys(chromedp.CSS(selector), text))
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
