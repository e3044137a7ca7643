package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"liza/pkg/verb/verb/verbtest"
)

// chromium finds the browser. Where there is none, the test says so.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("NOT RUN: no Chromium on this machine (on Debian: apt-get install chromium)")
	return ""
}

// browser starts a headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	program := chromium(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.WindowSize(1400, 900),
		chromedp.WSURLReadTimeout(2*time.Minute))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // events that it does not know
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("cannot start %s: %v", program, err)
	}
	return ctx
}

// tab is a window with cookies of its own.
type tab struct {
	*testing.T
	ctx      context.Context
	unfolded string // the beginning of the title of the form that was opened last
}

func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return &tab{T: t, ctx: ctx}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatalf("%v; the page says %q", err, b.text("document.body.innerText.slice(0, 2000)"))
	}
}

func (b *tab) open(url string) {
	b.Helper()
	b.do(chromedp.Navigate(url))
}

// text is the value of an expression, as a text.
func (b *tab) text(expression string) string {
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("(async () => String(await ("+expression+")))()", chromedp.EvalAwaitPromise))
	if err != nil {
		return "? " + err.Error()
	}
	return out
}

// wait waits until an expression is true.
func (b *tab) wait(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(0))); err != nil {
		b.Fatalf("it does not come: %s (%v); the page says %q", expression, err, b.text("document.body.innerText.slice(0, 3000)"))
	}
}

// says waits until the visible text of an element has a part.
func (b *tab) says(selector, part string) {
	b.Helper()
	b.wait(fmt.Sprintf("(document.querySelector(%q)?.innerText ?? '').includes(%q)", selector, part))
}

// click waits until an element is where a person can reach it, and clicks it in the same step of the page: what is drawn
// meanwhile cannot move it away from under the pointer.
func (b *tab) click(selector string) {
	b.Helper()
	b.wait(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e?.scrollIntoView({block: "center", behavior: "instant"});
		const r = e?.getClientRects()[0];
		if (!r || e.disabled || !e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2))) return false;
		e.focus();
		e.click();
		return true;
	})()`, selector))
}

// press sends keys to what has the focus.
func (b *tab) press(keys ...string) {
	b.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// site is a `liza serve` of a place.
type site struct {
	t              *testing.T
	place          *verbtest.Place
	address, token string
	cmd            *exec.Cmd
}

func newSite(t *testing.T, p *verbtest.Place) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now, and stays ours over a restart
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, place: p, address: listener.Addr().String(), token: "of-the-tests-and-long-enough"}
	_ = listener.Close()
	s.start()
	t.Cleanup(s.stop)
	return s
}

// page is the address of a view, with the token.
func (s *site) page(view string) string {
	return "http://" + s.address + "/?token=" + s.token + "#/" + view
}

func (s *site) start() {
	s.t.Helper()
	s.cmd = exec.Command("liza", "serve", "--addr", s.address, "--token-env", "WEB_TOKEN")
	s.cmd.Dir = s.place.Dir
	s.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LIZA_") }), "WEB_TOKEN="+s.token, "XDG_STATE_HOME="+s.place.StateHome())
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.t.Fatalf("liza serve said %q: %v", line, err)
	}
}

func (s *site) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// screenshots is where `make screenshots` wants pictures.
const screenshots = "LIZA_SCREENSHOTS"

func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(screenshots)
	if dir == "" {
		t.Skip("make screenshots takes them")
	}
	p := gallery(t)
	s := newSite(t, p)
	b := newTab(t, browser(t))
	b.open(s.page("board"))
	b.says("#connection", "live")
	for name, view := range galleryViews {
		for _, width := range []int64{1400, 800, 390} {
			for _, theme := range []string{"light", "dark"} {
				b.picture(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, theme)), view, width, theme)
			}
		}
	}
}
