package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"liza/pkg/face/dashboard"
)

// A terminal counts characters or clusters of them; a text that is not as wide as it is counted shifts the rest of its line.
func TestATextIsAsWideAsItIsCounted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		hostile, "plain", "e\u0301t\u00e9", "\u1112\u1161\u11ab\u1100\u1173\u11af.txt", "\u1161\u11a8", "漢字漢字漢字", "\u0e01\u0e47", "\u0300abc", "a\U000e0020b", "\u034f\u115f\u3164\uffa0x",
		"\xff\xfeab", "#\ufe0f\u20e3", "\U0001F44D\U0001F3FD", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "z" + strings.Repeat("\u0301\u0316", 500), "a\tb\t漢\tc", "\x9b31m\u0085",
	} {
		c := clean(text)
		if wc, clusters := ansi.StringWidthWc(c), ansi.StringWidth(c); wc != clusters || wc != dashboard.WidthOf(c) {
			t.Errorf("%q becomes %q: %d columns, %d as clusters", text, c, wc, clusters)
		}
		if len(c) > 3*len(text) && len(c) > 100 || strings.Count(c, "\u0301") > maxMarks {
			t.Errorf("%.20q becomes %d bytes", text, len(c))
		}
		for n := range 12 {
			if got := dashboard.Fit(c, n); dashboard.WidthOf(got) > n || ansi.StringWidth(got) > n {
				t.Errorf("%q on %d columns is %q", c, n, got)
			}
		}
		for _, l := range wrapped(strings.Repeat(c+" ", 9), 7) {
			if dashboard.WidthOf(l) > 7 {
				t.Errorf("%q is wrapped to %q", c, l)
			}
		}
	}
	if got := clean("\u1112\u1161\u11ab"); got != "한" {
		t.Errorf("a syllable becomes %q", got)
	}
}

func TestAnIndentBeforeALongWordIsNotALineOfItsOwn(t *testing.T) {
	t.Parallel()
	if got := strings.Join(wrapped("    https://example.org/a", 10), "|"); strings.HasPrefix(got, "|") || !strings.HasPrefix(strings.TrimSpace(got), "https") {
		t.Errorf("got %q", got)
	}
}

// The cursor stays on the screen, however long and wide the text is, and also on a character that is not shown.
func TestTheCursorOfALongTextIsShown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("long ", 100), strings.Repeat("漢字", 100), strings.Repeat("e\u0301", 100), hostile + hostile} {
		for _, width := range []int{40, 60, 160} {
			e := newEditor(text)
			for e.at = range len(e.text) + 1 {
				a := ask{label: "answer:", input: e}
				l := a.foot(width)
				if end := l[:3].width(); l[2].paint != inverse || l[2].text == "" || end > width {
					t.Fatalf("at %d of %.20q on %d columns the cursor %q ends at %d", e.at, text, width, l[2].text, end)
				}
			}
		}
	}
}

func TestANameThatFillsItsLineIsNotShownTwice(t *testing.T) {
	t.Parallel()
	rows := matter("k", strings.Repeat("name", 10), "something happened", warn, 30)
	var all strings.Builder
	for _, r := range rows {
		for _, s := range r.line {
			all.WriteString(s.text)
		}
	}
	if n := strings.Count(strings.ReplaceAll(all.String(), " ", ""), "name"); n != 10 || rows[0].key != "k" {
		t.Errorf("%d times: %q", n, all.String())
	}
}
