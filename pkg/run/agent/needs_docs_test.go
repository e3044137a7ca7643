package agent

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documentation again")

const (
	needsBegin = "<!-- Generated from the catalogue of programs by `make generate`; do not edit from here … -->\n"
	offBegin   = "<!-- The tools that are off, generated from the catalogue by `make generate`; do not edit from here … -->\n"
	needsEnd   = "<!-- … to here. -->\n"
)

func TestGeneratedTables(t *testing.T) {
	generated(t, needsBegin, needsTable())
	generated(t, offBegin, offTable())
}

// generated wants a table in its place on the page of settings.
func generated(t *testing.T, begin, table string) {
	t.Helper()
	page := filepath.Join("..", "..", "..", "specs", "configuration.md")
	there, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(there), begin)
	_, after, found := strings.Cut(rest, needsEnd)
	if !ok || !found {
		t.Fatalf("%s has no place for the table after %s", page, begin)
	}
	made := before + begin + table + needsEnd + after
	if *update {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made != string(there) {
		t.Errorf("%s differs from the catalogue; run `make generate` and look at the difference", page)
	}
}

func needsTable() string {
	var b strings.Builder
	b.WriteString("\n| program | reads of your home folder | writes there | the project keeps | copies | hosts | variables |\n|---|---|---|---|---|---|---|\n")
	cell := func(lists ...[]string) string {
		all := slices.Concat(lists...)
		if len(all) == 0 {
			return "–"
		}
		return "`" + strings.Join(all, "` `") + "`"
	}
	programs := builtin().Programs
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		n := programs[name].Sandbox
		shown := name
		if !n.Measured {
			shown += " (a guess)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", shown, cell(n.Read), cell(n.Login), cell(n.Keep), cell(n.Copy), cell(n.Hosts), cell(n.Env))
	}
	return b.String() + "\n"
}

// offTable says which tools of each program are off, and why.
func offTable() string {
	var b strings.Builder
	b.WriteString("\n| program | off | because |\n|---|---|---|\n")
	programs := builtin().Programs
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if strings.HasSuffix(name, "-acp") { // the same program
			continue
		}
		for _, off := range slices.Sorted(maps.Keys(programs[name].Off)) {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", name, off, programs[name].Off[off])
		}
	}
	return b.String() + "\n"
}
