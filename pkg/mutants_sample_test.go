package pkg_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// corePackages are those whose faults cost users most.
var corePackages = []string{"store", "verb", "merge", "supervisor", "git", "agent"}

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
// MUTANTS=all, against the tests of that package alone, and prints how many its own tests see.
// MUTANTS_PACKAGES chooses others.
//
// A package is built once with all its faults in it, each behind a switch. Each test runs once
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
	for _, name := range packages {
		pkg := readMutants(t, name)
		if len(pkg.places) < 50 {
			t.Errorf("%s has %d places for mutants; the generator sees nothing", name, len(pkg.places))
		}
		excused := pkg.excuse(t, known)
		if !canJail(t) {
			t.Fatalf("mutants need processes of their own: %s has to work (root, or user namespaces)", strings.Join(jail[:4], " "))
		}
		pkg.build(t)
		pkg.cover(t)
		all := slices.Clone(pkg.places)
		rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		began := time.Now()
		var tried []fault
		for _, p := range all {
			if !excused[p.id] && len(tried) < n {
				tried = append(tried, p)
			}
		}
		verdicts := pkg.tryAll(t, tried)
		missed := 0
		for i, p := range tried {
			switch verdicts[i] {
			case unreached:
				missed++
				t.Logf("no test is here: %s", p)
			case survived:
				t.Logf("survived: %s (%d tests pass here)", p, len(pkg.testsOf(p)))
			}
		}
		seen := len(slices.DeleteFunc(verdicts, func(v string) bool { return v != killed }))
		t.Logf("%s: %d of %d mutants (%.1f %%) killed by the package's own tests; %d survive where no test comes; %d others are equivalent (%d places, seed %d, %s)",
			name, seen, len(tried), 100*float64(seen)/float64(max(len(tried), 1)), missed, len(excused), len(pkg.places), seed, time.Since(began).Round(time.Second))
	}
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
func (m *mutated) excuse(t *testing.T, known []equivalent) map[int]bool {
	excused := map[int]bool{}
	for _, e := range known {
		if !strings.HasPrefix(e.File, "pkg/"+m.name+"/") {
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
