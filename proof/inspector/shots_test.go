package inspector

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

var docs = flag.Bool("docs", false, "write the pictures of the inspector to docs")

// TestScreenshots takes the pictures of docs: each view, one of them dark, one on a phone.
func TestScreenshots(t *testing.T) {
	if !*docs {
		t.Skip("writes files; ask for it with -docs")
	}
	b, h := browser(t), newHarbour(t, inspect.Options{Token: token})
	ship := h.ships[0].String()
	b.open(h, "")
	h.stall.Store(true)
	time.Sleep(20 * time.Second) // for lines in the charts
	for _, shot := range []struct{ name, hash, sees string }{
		{"overview", "#overview", "of the last"},
		{"shards", "#shards", "Imbalance"},
		{"map", "#map?entity=" + ship, "each drawn"},
		{"query", "#query?q=Hull,+Hull.Leaks+%3D%3D+true", "from 1 to"},
		{"systems", "#systems", "passed steer"},
		{"problems", "#problems", "an overrun"},
		{"dark", "#overview", "of the last"},
		{"phone", "#map", "each drawn"},
	} {
		b.do(emulate(shot.name == "dark"), chromedp.Navigate("about:blank"))
		b.open(h, shot.hash)
		if shot.name == "phone" {
			b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
		}
		b.sees(shot.sees, "main")
		time.Sleep(2 * time.Second)
		quality := int64(70)
		picture, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join("../../docs", "inspector-"+shot.name+".webp"), picture.Data, 0o644))
	}
	b.clean()
}

// emulate chooses the light or the dark colours.
func emulate(dark bool) chromedp.Action[chromedp.Void] {
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}
