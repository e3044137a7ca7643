package prose_test

import (
	"testing"

	"liza/pkg/base/prose"
)

func TestTextsForPeopleAreShort(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		prose.FirstLine("one\ntwo"):                      "one",
		prose.FirstLine(""):                              "",
		prose.OneLine(" one\n\ttwo ", 0):                 "one two",
		prose.OneLine("äöü one", 5):                      "äöü …",
		prose.OneLine("äöü o", 5):                        "äöü o",
		prose.Line("a\tb\x00c\u2028d\u202ee"):            "a b c de",
		prose.Plain("\x1b[31mred\x1b[0m\a\n\tx\u009b"):   "red\n\tx",
		prose.Plain("a\xffb\x1b]0;title\ac"):             "a\uFFFDbc",
		prose.Plain("a\r\nb\rc"):                         "a\nb\nc",
		prose.Cut("äöü", 6):                              "äöü",
		prose.Cut("äöüß", 7):                             "äö…",
		prose.Cut("abc", 1):                              "…",
		prose.After(": ", "why") + prose.After("; ", ""): ": why",
		prose.LastLine("one\ntwo \n\n"):                  "two",
		prose.LastLine(""):                               "",
		prose.Count(0, "task"):                           "0 tasks",
		prose.Count(1, "task"):                           "1 task",
		prose.Count(2, "task"):                           "2 tasks",
		prose.Few([]string{"a", "b"}, 2):                 "a, b",
		prose.Few([]string{"a", "b", "c", "d"}, 2) + ".": "a, b and 2 more.",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
