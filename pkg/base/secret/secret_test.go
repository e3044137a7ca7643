package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestEveryFormOfAValueIsMasked(t *testing.T) {
	t.Parallel()
	const value = `ghp/S3cr<et>"& wört+😀`
	var s Set
	s.Add("github_token", value)
	asJSON, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]string{
		"plain":                  value,
		"base64":                 base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 without =":       base64.RawStdEncoding.EncodeToString([]byte(value)),
		"base64 for URLs":        base64.URLEncoding.EncodeToString([]byte(value)),
		"the same without =":     base64.RawURLEncoding.EncodeToString([]byte(value)),
		"query":                  url.QueryEscape(value),
		"path":                   url.PathEscape(value),
		"path in lower case":     strings.NewReplacer("%2F", "%2f", "%3C", "%3c", "%3E", "%3e", "%C3%B6", "%c3%b6", "%F0%9F%98%80", "%f0%9f%98%80").Replace(url.PathEscape(value)),
		"JSON":                   string(asJSON[1 : len(asJSON)-1]),
		"JSON without HTML":      `ghp/S3cr<et>\"& wört+😀`,
		"JSON with \\/":          `ghp\/S3cr<et>\"& wört+😀`,
		"JSON in ASCII":          `ghp/S3cr<et>\"& w\u00f6rt+\ud83d\ude00`,
		"JSON in ASCII, capital": `ghp\/S3cr<et>\"& w\u00F6rt+\uD83D\uDE00`,
		"all but letters":        "ghp%2FS3cr%3Cet%3E%22%26%20w%C3%B6rt%2B%F0%9F%98%80",
		"every byte":             "%67%68%70%2F%53%33%63%72%3C%65%74%3E%22%26%20%77%C3%B6%72%74%2B%F0%9F%98%80",
		"every byte, lower case": "%67%68%70%2f%53%33%63%72%3c%65%74%3e%22%26%20%77%c3%b6%72%74%2b%f0%9f%98%80",
		"every character":        `\u0067\u0068\u0070\u002f\u0053\u0033\u0063\u0072\u003c\u0065\u0074\u003e\u0022\u0026\u0020\u0077\u00f6\u0072\u0074\u002b\ud83d\ude00`,
		"the same, capital":      `\u0067\u0068\u0070\u002F\u0053\u0033\u0063\u0072\u003C\u0065\u0074\u003E\u0022\u0026\u0020\u0077\u00F6\u0072\u0074\u002B\uD83D\uDE00`,
		"hexadecimal":            hex.EncodeToString([]byte(value)),
		"hexadecimal in capital": strings.ToUpper(hex.EncodeToString([]byte(value))),
	} {
		if got, want := s.Mask("a"+form+"b"), "a[REDACTED:github_token]b"; got != want {
			t.Errorf("%s: Mask(%q) = %q, want %q", name, form, got, want)
		}
	}
}

func TestAValueIsMaskedInBase64OfALongerText(t *testing.T) {
	t.Parallel()
	const value = "ghp_SECRETVALUE+/?"
	var s Set
	s.Add("token", value)
	for before := range 7 {
		for after := range 4 {
			text := strings.Repeat("<", before) + value + strings.Repeat(">", after)
			for name, enc := range map[string]*base64.Encoding{"standard": base64.StdEncoding, "URL": base64.URLEncoding} {
				got := s.Mask(enc.EncodeToString([]byte(text)))
				plain, _ := enc.DecodeString(got)
				if !strings.Contains(got, "[REDACTED:token]") || strings.Contains(string(plain), "SECRET") {
					t.Errorf("%s, %d before, %d after: %q", name, before, after, got)
				}
			}
		}
	}
}

func TestOnlyWhatWasGivenAsASecretIsFound(t *testing.T) {
	t.Parallel()
	var s Set
	s.AddEnviron([]string{"LIZA_SECRET_GITHUB=ghp_SECRETVALUE", "LIZA_SECRET_PIN=1234", "OPENAI_API_KEY=sk-abcdefgh"})
	if name, ok := s.Found("it is ghp_SECRETVALUE!"); !ok || name != "github" {
		t.Errorf("found %q, %t", name, ok)
	}
	for _, text := range []string{"sk-abcdefgh", "1234", "none"} {
		if name, ok := s.Found(text); ok {
			t.Errorf("%q: found %q", text, name)
		}
	}
	if _, ok := (*Set)(nil).Found("ghp_SECRETVALUE"); ok {
		t.Error("no set finds something")
	}
}

func TestAFolderIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), new(Set)
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("value-of-"+name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.AddFolder(dir); err != nil {
			t.Fatal(err)
		}
		if got := s.Mask("value-of-" + name); got != "[REDACTED:"+name+"]" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestShortValuesAreNoSecrets(t *testing.T) {
	t.Parallel()
	var s Set
	s.Add("a", "abc")
	s.Add("b", "öäü")
	s.Add("c", "")
	if got := s.Mask("abc öäü"); got != "abc öäü" {
		t.Errorf("got %q", got)
	}
	var none *Set
	if got := none.Mask("abcdef"); got != "abcdef" {
		t.Errorf("nil set: got %q", got)
	}
}

func TestOverlappingValuesLeaveNothing(t *testing.T) {
	t.Parallel()
	var s Set
	s.Add("one", "abcd")
	s.Add("two", "cdefghij")
	s.Add("three", "abcdXYZ!")
	s.Add("again", "abcd")
	for text, want := range map[string]string{
		"-abcdefghij-":  "-[REDACTED:one]-",
		"-abcdXYZ!-":    "-[REDACTED:three]-",
		"abcdabcd":      "[REDACTED:one][REDACTED:one]",
		"abcd cdefghij": "[REDACTED:one] [REDACTED:two]",
	} {
		if got := s.Mask(text); got != want {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAFileThatEndsWithANewlineIsMaskedWithoutIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"token": "tok-12345\n", "key": "-----BEGIN-----\nMIIEabcdefgh\n-----END-----\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	var s Set
	if err := s.AddFolder(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Mask("x tok-12345 y\n  MIIEabcdefgh\n"), "x [REDACTED:token] y\n  [REDACTED:key]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := s.AddFolder(filepath.Join(dir, "none")); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	var s Set
	s.AddEnviron([]string{"LIZA_SECRET_GITHUB=1234", "OPENAI_API_KEY=sk-abcdefgh", "SHORT_TOKEN=1234567", "HOME=/home/ada-lovelace", "LIZA_AGENT_TOKEN=t-00112233"})
	got := s.Mask("1234 sk-abcdefgh 1234567 /home/ada-lovelace t-00112233")
	want := "[REDACTED:github] [REDACTED:OPENAI_API_KEY] [REDACTED:github]567 /home/ada-lovelace [REDACTED:LIZA_AGENT_TOKEN]"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func stream(t *testing.T, s *Set, text string, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := s.Writer(&out)
	for i := 0; i < len(text); i += size {
		if n, err := w.Write([]byte(text[i:min(i+size, len(text))])); err != nil || n != min(size, len(text)-i) {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAStreamIsMaskedOverTheBordersOfItsChunks(t *testing.T) {
	t.Parallel()
	var s Set
	s.Add("a", "aaaa")
	s.Add("ab", "abcdefgh")
	s.Add("gh", "ghijkl")
	for _, text := range []string{
		"", "abcdefgh", "xabcdefghijklx", "aaaaaaaaaaaaaaaax", "aaaabcdefgh", "abcdefg", "aaa aaab abcd", "ghijkaaaa",
		base64.StdEncoding.EncodeToString([]byte("abcdefgh")) + "=",
	} {
		want := s.Mask(text)
		for size := 1; size <= len(text)+1; size++ {
			if got := stream(t, &s, text, size); got != want {
				t.Errorf("%q in chunks of %d: got %q, want %q", text, size, got, want)
			}
		}
	}
}

func TestAStreamHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	var s Set
	s.Add("name", "geheim")
	var out bytes.Buffer
	w := s.Writer(&out)
	for _, step := range []struct{ in, out string }{
		{"line one\n", "line one\n"}, {"gehe", "line one\n"}, {"n ", "line one\ngehen "}, {"geheim", "line one\ngehen [REDACTED:name]"},
	} {
		if _, err := w.Write([]byte(step.in)); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.out {
			t.Errorf("after %q: %q, want %q", step.in, out.String(), step.out)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAnErrorBelowIsReported(t *testing.T) {
	t.Parallel()
	if _, err := new(Set).Writer(broken{}).Write([]byte("x")); err == nil {
		t.Error("Write hid the error of the writer below")
	}
}

func TestSecretsMayBeAddedWhileOthersWrite(t *testing.T) {
	t.Parallel()
	var s Set
	w := s.Writer(new(bytes.Buffer))
	var group sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		group.Go(func() {
			for range 20 {
				s.Add(name, "value of "+name)
				if _, err := w.Write([]byte("value of " + name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func FuzzWriter(f *testing.F) {
	f.Add("abcd", "bcdef", "xabcdefabcd", uint8(3))
	f.Add("aaaa", "aabaa", "aaabaaaabaaab", uint8(1))
	f.Fuzz(func(t *testing.T, one, two, text string, size uint8) {
		var s Set
		s.Add("one", one)
		s.Add("two", two)
		want := s.Mask(text)
		if got := stream(t, &s, text, int(size)+1); got != want {
			t.Errorf("secrets %q, %q: %q in chunks of %d: got %q, want %q", one, two, text, int(size)+1, got, want)
		}
	})
}
