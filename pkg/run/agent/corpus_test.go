package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// corpusCase is one case of testdata/corpus/manifest.yaml.
type corpusCase struct {
	Exit      *int      `yaml:"exit"`
	Want      Outcome   `yaml:"want"`
	Made      bool      `yaml:"made"`
	Reset     time.Time `yaml:"reset"`
	Retry     string    `yaml:"retry"`
	Session   string    `yaml:"session"`
	NoSession bool      `yaml:"no_session"`
	Cents     float64   `yaml:"cents"`
	In        int       `yaml:"in"`
	Out       int       `yaml:"out"`
	Cached    int       `yaml:"cached"`
	Tools     int       `yaml:"tools"`
}

type corpus struct {
	At    time.Time             `yaml:"at"`
	Cases map[string]corpusCase `yaml:"cases"`
}

func readCorpus(t testing.TB) corpus {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c corpus
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// recording reads the files of a case; one that is not there is empty.
func (c corpus) recording(t testing.TB, name string) Recording {
	t.Helper()
	r := Recording{Exit: c.Cases[name].Exit, At: c.At}
	found := false
	for ending, to := range map[string]*[]byte{".jsonl": &r.Stdout, ".txt": &r.Stdout, ".err": &r.Stderr} {
		data, err := os.ReadFile(filepath.Join("testdata/corpus", name+ending))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		*to, found = data, true
	}
	if !found {
		t.Errorf("%s has no files", name)
	}
	return r
}

func catalogued(t testing.TB, name string) Adapter {
	t.Helper()
	a, err := Lookup(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// score counts the judgements of one class.
type score struct{ right, wrong, missed, recorded int }

func (s score) String() string {
	precision, recall := 1.0, 1.0
	if s.right+s.wrong > 0 {
		precision = float64(s.right) / float64(s.right+s.wrong)
	}
	if s.right+s.missed > 0 {
		recall = float64(s.right) / float64(s.right+s.missed)
	}
	return fmt.Sprintf("cases %3d, %2d of them recorded  precision %.2f  recall %.2f", s.right+s.missed, s.recorded, precision, recall)
}

func TestRecordedRunsAreClassified(t *testing.T) {
	t.Parallel()
	c := readCorpus(t)
	scores := map[Outcome]score{}
	talk := 0
	var killed []string // judged as if the provider had refused them: their program would be stopped, or made to wait
	for _, name := range slices.Sorted(maps.Keys(c.Cases)) {
		want := c.Cases[name]
		program, _, _ := strings.Cut(name, "/")
		got := Explain(catalogued(t, program).Reader(Spec{}), c.recording(t, name))
		s := scores[want.Want]
		if got.Outcome == want.Want {
			s.right++
		} else {
			s.missed++
			o := scores[got.Outcome]
			o.wrong++
			scores[got.Outcome] = o
			t.Errorf("%s: got %s by %s (%q), want %s", name, got.Outcome, got.Signature, got.Evidence, want.Want)
		}
		if !want.Made {
			s.recorded++
		}
		scores[want.Want] = s
		if strings.Contains(name, "talk") {
			talk++
		}
		if (want.Want == Finished || want.Want == Crashed) && makesWait(got.Outcome) {
			killed = append(killed, name)
		}
		want.check(t, name, got)
	}
	for _, class := range slices.Sorted(maps.Keys(scores)) {
		t.Logf("%-13s %s", class, scores[class])
	}
	t.Logf("%d recordings, %d of agents that talk about limits, %d false kills", len(c.Cases), talk, len(killed))
	if len(killed) > 0 {
		t.Errorf("stopped although their programs had no trouble: %s", strings.Join(killed, ", "))
	}
	for _, class := range []Outcome{ContextFull, Crashed, Finished, Network, Overloaded, QuotaWindow, RateLimited, Reask, Stalled, Stopped, Unusable} {
		if s := scores[class]; s.right+s.missed < 5 {
			t.Errorf("%s has only %d cases", class, s.right+s.missed)
		}
	}
	if talk < 20 {
		t.Errorf("only %d cases of agents that talk about limits", talk)
	}
}

// makesWait reports whether a class stops a program, or keeps it waiting, without a fault of its work.
func makesWait(o Outcome) bool {
	return o.Transient() || o == QuotaWindow || o == Unusable || o == ContextFull || o == Stopped
}

// check compares what else a case wants.
func (c corpusCase) check(t *testing.T, name string, got Result) {
	t.Helper()
	u := got.Usage
	switch {
	case got.Signature == "":
		t.Errorf("%s: no signature", name)
	case !got.ResetAt.Equal(c.Reset):
		t.Errorf("%s: resets at %v, want %v", name, got.ResetAt, c.Reset)
	case c.Retry != "" && got.RetryAfter.String() != mustDuration(c.Retry).String():
		t.Errorf("%s: retry after %s, want %s", name, got.RetryAfter, c.Retry)
	case c.Session != "" && got.Session != c.Session, got.NoSession != c.NoSession:
		t.Errorf("%s: session is %q, none: %v; want %q, %v", name, got.Session, got.NoSession, c.Session, c.NoSession)
	case c.In > 0 && (!u.TokensKnown || u.TokensIn != c.In || u.TokensOut != c.Out || u.TokensCached != c.Cached):
		t.Errorf("%s: usage is %+v, want %d, %d, %d", name, u, c.In, c.Out, c.Cached)
	case c.In > 0 && (u.CostKnown != (c.Cents > 0) || u.CostCents != c.Cents):
		t.Errorf("%s: cost is %+v, want %v cents", name, u, c.Cents)
	case c.Tools > 0 && got.Tools != c.Tools:
		t.Errorf("%s: %d tools, want %d", name, got.Tools, c.Tools)
	case (got.Error == "") != (got.Outcome == Finished):
		t.Errorf("%s: %s with error %q", name, got.Outcome, got.Error)
	case c.In > 0 && !strings.Contains(got.Final, "DONE: hello.txt is committed."):
		t.Errorf("%s: final message is %q", name, got.Final)
	}
}

func mustDuration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

func TestEveryRecordingIsInTheManifest(t *testing.T) {
	t.Parallel()
	c := readCorpus(t)
	err := filepath.WalkDir("testdata/corpus", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".yaml" {
			return err
		}
		name := strings.TrimPrefix(strings.TrimSuffix(path, filepath.Ext(path)), "testdata/corpus/")
		if _, ok := c.Cases[name]; !ok {
			t.Errorf("%s is not in the manifest", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestMessagesOfProvidersAreClassified(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/corpus/sentences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sentences map[string][]string
	if err := yaml.Unmarshal(data, &sentences); err != nil {
		t.Fatal(err)
	}
	at := readCorpus(t).At
	for class, all := range sentences {
		for _, text := range all {
			var res Result
			for _, s := range lineSigns([]string{text}) {
				builtin().common.judge(&res, s, Exit{At: at})
			}
			if got := cmp.Or(string(res.Outcome), "none"); got != class {
				t.Errorf("%q is %s by %s, want %s", text, got, res.Signature, class)
			}
		}
	}
}
