package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	outputRow  = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (.*) \\| (.*) \\|$")
	objectSpan = regexp.MustCompile("`(\\{[^`]*\\})`")
)

// Each row of the table of outputs shows lines from which its reader takes what the row says.
func TestTheOutputsOfThePageAreReadAsItSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "specs", "write-your-own-agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## How its output is read\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var names []string
	shown := ""
	for _, row := range outputRow.FindAllStringSubmatch(table, -1) {
		name, e := row[1], Entry{Command: []string{"mine"}, Output: row[1]}
		names = append(names, name)
		if !strings.HasPrefix(row[3], "the same") {
			shown = row[3]
		}
		if name == formatObject {
			e.Answer = "reply"
		}
		program, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": e}})
		if err != nil {
			t.Error(err)
			continue
		}
		var stdout strings.Builder
		for _, line := range objectSpan.FindAllStringSubmatch(row[2], -1) {
			stdout.WriteString(line[1] + "\n")
		}
		code := 0
		got := Explain(program.Reader(Spec{}), Recording{Stdout: []byte(stdout.String()), Exit: &code})
		u := got.Usage
		if got.Outcome != Finished || !strings.Contains(got.Final, "ANSWER") || name != formatText && got.Final != "ANSWER" || got.Unknown != 0 {
			t.Errorf("%s: got %s with %q, %d lines not known", name, got.Outcome, got.Final, got.Unknown)
		}
		if (got.Session == "s-1") != strings.Contains(shown, "conversation") ||
			(u.TokensIn == 900 && u.TokensOut == 120) != strings.Contains(shown, "tokens") || u.TokensKnown != strings.Contains(shown, "tokens") ||
			u.CostKnown != strings.Contains(shown, "cost") || u.CostKnown && u.CostCents != 1.23 {
			t.Errorf("%s: got conversation %q and %+v; the page says %q", name, got.Session, u, shown)
		}
	}
	if slices.Sort(names); !slices.Equal(names, Formats()) {
		t.Errorf("the page has %q, the readers are %q", names, Formats())
	}
}
