package pkg_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// corePackages are those whose faults cost users most.
var corePackages = []string{"board/store", "verb/verb", "code/merge", "team/supervisor", "code/git", "run/agent"}

// An equivalent mutant changes nothing that a user or a test could see, for the reason given.
type equivalent struct {
	File   string
	Line   string // the line's text, trimmed
	Fault  string // as a sample prints it
	Reason string
}

func equivalents(t *testing.T) []equivalent {
	t.Helper()
	data, err := os.ReadFile("../testdata/mutants-equivalent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []equivalent
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// MUTANTS=N tries N mutants of each core package, chosen by MUTANTS_SEED, or all of them with
// MUTANTS=all, against the tests of that package, then those of the other packages of the run, and
// prints how many they see. MUTANTS_PACKAGES chooses others; MUTANTS_WITH names packages whose tests
// are tried as well ("face/cli": all scripts).
//
// Everything is built once with all faults in it, each behind a switch. Each test runs once
// alone, and shared memory says which of the places it passes; then each fault is switched on
// for the tests that pass it, the quickest first.
func TestSampledMutants(t *testing.T) {
	wanted := os.Getenv("MUTANTS")
	n, err := strconv.Atoi(wanted)
	switch {
	case wanted == "all":
		n = 1 << 30
	case err != nil:
		t.Parallel()
		n = 0
	}
	seed, _ := strconv.ParseUint(os.Getenv("MUTANTS_SEED"), 10, 64)
	packages := corePackages
	if names := os.Getenv("MUTANTS_PACKAGES"); names != "" {
		packages = strings.Fields(names)
	}
	known := equivalents(t)
	checkLines(t, known)
	if n == 0 {
		return
	}
	m := readMutants(t, packages...)
	excused := m.excuse(t, known, packages)
	if !canJail(t) {
		t.Fatalf("mutants need processes of their own: %s has to work (root, or user namespaces)", strings.Join(jail[:4], " "))
	}
	m.write(t)
	for _, pkg := range slices.Concat(packages, strings.Fields(os.Getenv("MUTANTS_WITH"))) {
		if m.binaries[pkg] == "" {
			m.build(t, pkg)
			m.cover(t, pkg)
		}
	}
	for _, name := range packages {
		m.score(t, name, n, seed, excused)
	}
}

// score tries n faults of a package, or all when there are fewer, and prints what became of them.
func (m *mutated) score(t *testing.T, name string, n int, seed uint64, excused map[int]bool) {
	t.Helper()
	var all []fault
	known := 0
	for _, p := range m.places {
		switch {
		case p.pkg != name:
		case excused[p.id]:
			known++
		default:
			all = append(all, p)
		}
	}
	places := len(all) + known
	rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	tried := all[:min(n, len(all))]
	began := time.Now()
	count := map[string]int{}
	for i, verdict := range m.tryAll(t, tried) {
		count[verdict]++
		switch verdict {
		case unreached:
			t.Logf("no test is here: %s", tried[i])
		case survived:
			t.Logf("survived: %s (%d tests pass here)", tried[i], len(m.testsOf(tried[i])))
		}
	}
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(len(tried), 1)) }
	t.Logf("%s: %d of %d mutants seen (%.1f %%), %d of them (%.1f %%) by the package's own tests; no test comes to %d; %d others are equivalent (%d places, seed %d, %s)",
		name, count[killed]+count[byOthers], len(tried), percent(count[killed]+count[byOthers]), count[killed], percent(count[killed]),
		count[unreached], known, places, seed, time.Since(began).Round(time.Second))
}

// checkLines finds entries whose line is gone, without building anything.
func checkLines(t *testing.T, known []equivalent) {
	t.Helper()
	for _, e := range known {
		source, err := os.ReadFile("../" + e.File)
		if err != nil || e.Line == "" || e.Fault == "" || e.Reason == "" || !strings.Contains(string(source), "\t"+e.Line+"\n") {
			t.Errorf("testdata/mutants-equivalent.yaml: %s: %q: no such line, or an empty entry: %v", e.File, e.Line, err)
		}
	}
}

// excuse returns the ids of the places that are known to be equivalent. An entry that fits no
// place any more is an error: the code has moved, and the reason has to be thought about again.
func (m *mutated) excuse(t *testing.T, known []equivalent, packages []string) map[int]bool {
	t.Helper()
	excused := map[int]bool{}
	for _, e := range known {
		if !slices.Contains(packages, strings.TrimPrefix(path.Dir(e.File), "pkg/")) {
			continue
		}
		found := false
		for _, p := range m.places {
			if p.file == e.File && p.source == e.Line && p.what == e.Fault {
				excused[p.id], found = true, true
			}
		}
		if !found || strings.TrimSpace(e.Reason) == "" {
			t.Errorf("testdata/mutants-equivalent.yaml: %s: %q, %s: no such place, or no reason", e.File, e.Line, e.Fault)
		}
	}
	return excused
}

func (p fault) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.file, p.line, p.what, p.source)
}
