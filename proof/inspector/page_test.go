package inspector

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

// open shows a view of the harbour.
func (b *tab) open(h *harbour, hash string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(h.url(hash)))
}

// show goes to a view by its link, which may have a number behind its name.
func (b *tab) show(view string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS("#views a[href^='#" + strings.ToLower(view) + "']")))
	b.until("document.querySelector('[aria-current]')?.innerText.startsWith(" + quote(view) + ")")
}

// TestViews looks at each view for what the world has.
func TestViews(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{Token: token})
	b.open(h, "")
	for _, view := range []struct {
		name string
		see  func()
	}{
		{"Overview", func() {
			tick := "Number(document.querySelector('.figures dd').innerText.replaceAll(',', ''))"
			was := is[int](b, tick)
			b.until(fmt.Sprintf("%s > %d", tick, was+10))
			b.sees("2,040", ".figures")
			b.until("document.querySelectorAll('.chart canvas').length === 2")
			b.sees("of the last", "main")
			b.sees("steer", ".timeline .legend")
			b.press("Hold still")
			b.press("◀ Older")
			b.do(chromedp.Focus(chromedp.CSS(".lanes canvas")), chromedp.KeyEvent(kb.ArrowRight))
			b.sees("shard 0", ".told")
			b.press("By worker")
			b.do(chromedp.Focus(chromedp.CSS(".lanes canvas")), chromedp.KeyEvent(kb.Home))
			b.sees("worker", ".told")
		}},
		{"Shards", func() {
			b.until("document.querySelectorAll('main .scroll:not(.matrix) tbody tr').length === 4")
			b.sees("Imbalance: the busiest of 4 shards", "main")
			b.until("document.querySelectorAll('.matrix tbody tr').length === 5")
			b.until("[...document.querySelectorAll('.matrix td')].some(td => /^[0-9.]+ [nµm]?s$/.test(td.innerText))")
		}},
		{"Map", func() {
			b.sees("2,040 entities match, 2,040 of them here, each drawn", "main")
			b.sees("shard 1", ".legend")
			b.press("By components")
			b.sees("Position, Cargo: 40", ".legend")
			b.write("input[type=search]", "Hull.Left < 60"+kb.Enter)
			b.until("/^[1-9][0-9]* entities match/.test(document.querySelector('main .note').innerText)")
			b.do(chromedp.Focus(chromedp.CSS(".map canvas")), chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.Enter))
			b.sees("Hull", "#entity")
			b.until("location.hash.includes('entity=') && location.hash.includes('box=') && location.hash.includes('where=')")
			b.press("Close the entity")
		}},
		{"Query", func() {
			b.sees("2,040 entities", "#query-count")
			b.write("#query", "Hull, Hull.Leaks == true"+kb.Enter)
			b.sees("from 1 to 50", "#query-count")
			b.press("Next")
			b.sees("from 51 to 100", "#query-count")
			b.do(chromedp.Focus(chromedp.CSS("main th:last-child button")), chromedp.KeyEvent(kb.Enter))
			b.sees("the first 200 by Hull.Painted, the least first", "#query-count")
			b.until("document.activeElement.innerText === 'Hull.Painted' && location.hash.includes('order=Hull.Painted')")
			b.press("Hull.Left")
			b.sees("the first 200 by Hull.Left, the greatest first", "#query-count")
			b.until("document.querySelector('th[aria-sort=descending]').innerText.startsWith('Hull.Left')")
			b.until("document.querySelector('main tbody tr td:nth-child(4)').innerText === '99'")
			b.write("#query", "Hull, Hul"+kb.Enter)
			b.sees("Hul", "#query-wrong .bad")
			b.until("document.querySelector('#query-wrong mark')?.title === 'column 7'")
			b.write("#query", "Handle "+h.ships[0].String()+kb.Enter)
			b.sees("Anna", "main tbody")
			b.press(h.ships[0].String())
			b.sees("Anna", "#entity")
			b.press(h.ships[1].String()) // its child
			b.sees("fleet: parent", "#entity")
			link := "[...document.querySelectorAll('#entity a, #entity button')].filter(e => /^\\d+:\\d+@\\d+$/.test(e.innerText.trim())).at(-1)"
			b.until(link)
			b.do(chromedp.Evaluate[chromedp.Void](link + ".click()")) // where it sails now: the last of its links
			b.sees("Cargo", "#entity")
			was := is[string](b, "document.querySelector('#entity .fields').innerText + document.getElementById('entity').innerText")
			b.until("document.querySelector('#entity .fields').innerText + document.getElementById('entity').innerText !== " + quote(was)) // it is live
		}},
		{"Systems", func() {
			b.sees("Stage Update", "main")
			b.sees("waits until all shards have passed steer (Position: read in all shards, then written", "main")
			b.press("steer")
			b.sees("steer by shard", "main")
		}},
		{"Problems", func() {
			h.stall.Store(true)
			b.sees("overrun", "main")
			b.press("Open here")
			b.sees("watch", ".timeline .legend")
			b.sees("an overrun", "main")
			b.until("document.querySelector('a[download]')")
		}},
	} {
		b.show(view.name)
		view.see()
		b.clean("status of 400") // of the query that is wrong
	}
}

// TestAddress opens links, which show what they showed to whoever copied them.
func TestAddress(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{})
	b.open(h, "#map?x=Hull.Left&y=Position.Y&color=set&where=Hull&box=0,-100,80,100&entity="+h.ships[0].String())
	b.sees("Anna", "#entity")
	b.sees("2,000 entities match", "main")
	b.until("document.querySelector('select').value === 'Hull.Left' && document.querySelector('input[type=search]').value === 'Hull'")
	b.open(h, "#query?q=Cargo.Tons+%3E+3&order=Cargo.Tons&down=1&total=Position.X")
	b.until("document.getElementById('query').value === 'Cargo.Tons > 3'")
	b.sees("all by Cargo.Tons, the greatest first", "#query-count")
	b.sees(" values, sum ", "main")
	b.until("document.querySelector('main select').value === 'Position.X'")
	b.do(chromedp.NavigateBack())
	b.sees("Anna", "#entity")
	b.clean()
}

// answer gives the token where it is asked for.
func (b *tab) answer(text string) {
	b.t.Helper()
	b.write("#token-value", text+kb.Enter)
}

// TestControls pauses, steps, edits and destroys, once the page has the token.
func TestControls(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{Token: token})
	b.open(h, "#systems")
	b.press("Pause")
	b.answer("not the token at all")
	b.sees("does not accept this token", "#token")
	require.False(t, h.s.Paused())
	b.answer(token)
	b.sees("paused", "#state")
	require.True(t, h.s.Paused())
	tick := h.w.Tick()
	b.write("#step-ticks", "3")
	b.press("Step")
	b.sees(fmt.Sprintf("Paused at tick %d.", tick+3), "#said")
	b.press("Resume")
	b.sees("running", "#state")

	b.press("Disable trade")
	b.press("Enable trade")
	b.sees("trade is enabled", "#said")

	b.open(h, "#query?entity="+h.ships[7].String())
	edit := func(name, selector, text, said string) {
		t.Helper()
		b.press("Edit " + name)
		b.write("#entity .fields "+selector, text)
		b.press("Set")
		b.sees(said, "#said")
	}
	edit("Hull.Left", "input", "77", "Hull.Left: applied")
	b.sees("77", "#entity")
	edit("Hull.Painted", "input", "<b>green</b>", "Hull.Painted: applied")
	b.sees("<b>green</b>", "#entity")
	edit("Hull.Left", "input", "much", "want a number")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.press("Destroy")
	b.press("No")
	require.True(t, h.w.Alive(h.ships[7]))
	b.press("Destroy")
	b.press("Yes")
	b.until("document.querySelector('#entity .note').innerText !== '' && !document.querySelector('#entity .note').innerText.startsWith('alive')")
	require.Eventually(t, func() bool { return !h.w.Alive(h.ships[7]) }, patience, 10*time.Millisecond)

	b.show("Problems")
	b.press("Record the next 100 ticks")
	b.sees("100 from", "main")
	b.until("document.querySelector('main a[download]')")
	b.clean("status of 401", "status of 400")
}

// TestControlsOff has a server without a token: controls say why they do nothing.
func TestControlsOff(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{})
	b.open(h, "#systems?entity="+h.ships[0].String())
	for _, name := range []string{"Pause", "Step", "Disable sail", "Destroy"} {
		b.press(name)
		b.sees("started without a token", "#said")
		b.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('said').textContent = ''"))
	}
	require.False(t, h.s.Paused())
	require.True(t, h.s.Enabled("sail"))
	require.True(t, h.w.Alive(h.ships[0]))
	b.clean()
}

// TestElsewhere comes by a proxy, below a prefix: the page asks for the token before it shows
// anything.
func TestElsewhere(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{Token: token})
	to, err := url.Parse(h.url(""))
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
	}}
	h.by = http.StripPrefix("/inspect", proxy)
	h.listen("127.0.0.1:0")
	b.open(h, "inspect/#shards")
	b.sees("token", "#token")
	require.NotContains(t, is[string](b, "document.querySelector('main').innerText"), "Imbalance")
	b.press("Cancel")
	b.sees("token", "#banner")
	b.press("Give the token")
	b.answer(token)
	b.sees("Imbalance", "main")
	b.show("Map")
	b.sees("2,040 entities match", "main")
	b.clean("status of 401")
}

// TestReconnects stops the server: the page says so, and goes on when there is one again.
func TestReconnects(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{})
	b.open(h, "#shards?entity="+h.towns[0].String())
	b.sees("Imbalance", "main")
	require.NoError(t, h.serve.Close())
	b.sees("Not connected since", "#banner")
	b.until("document.body.classList.contains('stale')")
	h.listen(h.addr)
	b.until("document.getElementById('banner').hidden && !document.body.classList.contains('stale')")
	was := is[string](b, "document.querySelector('#entity .note').innerText")
	b.until("document.querySelector('#entity .note').innerText !== " + quote(was))
	b.clean("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
}

// TestNoFigures has a server whose world makes no ticks: the page gives the reason, and waits.
func TestNoFigures(t *testing.T) {
	b, h := browser(t), idleHarbour(t, inspect.Options{}, 4)
	b.open(h, "#shards")
	b.sees("no tick has ended", "#banner")
	b.sees("no figures", "#state")
	h.run()
	b.sees("Imbalance", "main")
	b.until("document.getElementById('banner').hidden")
	b.clean("status of 503")
}

// TestManyShards has too many shards for a matrix: the page lists those that waited longest.
func TestManyShards(t *testing.T) {
	b, h := browser(t), idleHarbour(t, inspect.Options{}, 20)
	h.run()
	b.open(h, "#shards")
	b.sees("The 20 longest:", "main")
	b.until("document.querySelectorAll('[aria-label=\"Who waited for whom\"] tbody tr').length === 20 && !document.querySelector('.matrix')")
	b.clean()
}

// TestNames looks at what a screen reader says: each control has a name.
func TestNames(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{Token: token})
	b.open(h, "#overview?entity="+h.ships[0].String())
	b.sees("Anna", "#entity")
	for _, view := range strings.Fields("Overview Shards Map Query Systems Problems") {
		b.show(view)
		b.until("document.querySelector('main').childElementCount > 1")
		time.Sleep(300 * time.Millisecond)
		tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		require.NoError(t, err)
		controls := 0
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil || !slices.Contains(strings.Fields(`"button" "link" "textbox" "searchbox" "combobox" "checkbox" "spinbutton" "application" "img"`), string(n.Role.Value)) {
				continue
			}
			controls++
			require.Greater(t, len(n.Name.Value), len(`""`), "%s: a %s without a name", view, n.Role.Value)
		}
		require.Greater(t, controls, 10, view)
	}
}

// TestMapRow looks at the controls above the map where the page is 1,280 pixels wide: they take one
// line, beside an entity, too.
func TestMapRow(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{})
	for _, hash := range []string{"#map", "#map?entity=" + h.ships[0].String()} {
		b.open(h, hash)
		b.sees("2,040 entities match", "main")
		b.until("document.querySelector('#entity').hidden === " + fmt.Sprint(hash == "#map"))
		lines := `new Set([...document.querySelectorAll('main form > *')].map(e => { const r = e.getBoundingClientRect(); return Math.round((r.top + r.bottom) / 2); })).size`
		require.Equal(t, 1, is[int](b, lines), hash)
	}
	b.clean()
}

// TestNarrow looks at each view on a phone: nothing is wider than the screen.
func TestNarrow(t *testing.T) {
	b, h := browser(t), newHarbour(t, inspect.Options{})
	b.open(h, "#shards?entity="+h.ships[0].String())
	b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, view := range strings.Fields("Overview Shards Map Query Systems Problems") {
		b.show(view)
		b.until("document.querySelector('main').childElementCount > 1")
		time.Sleep(300 * time.Millisecond)
		require.LessOrEqual(t, is[int](b, "document.documentElement.scrollWidth"), 360, view)
	}
	b.clean()
}
