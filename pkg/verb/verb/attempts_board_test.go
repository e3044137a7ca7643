package verb_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

var update = flag.Bool("update", false, "write the records of what verbs do again")

// recorded compares a text with its file in testdata.
func recorded(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("line %d of pkg/verb/verb/%s; if that is meant: go test ./pkg/verb/verb -run TestEachVerb -update\ngot  %s\nwant %s", i+1, file, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Fatalf("pkg/verb/verb/%s has %d lines, want %d", file, len(g), len(w))
	}
}

func TestEachVerbDoesWhatIsRecorded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	t.Run("writes", s.writes)
	t.Run("refusals", s.refusals)
}

// writes: what each verb returns, writes on the board and into the journal, and how it ends when one look at the board, or one
// write, fails: testdata/writes.txt. A failure that is not told is on record there too.
func (s *scene) writes(t *testing.T) {
	var all strings.Builder
	for _, c := range writing() {
		c.files = true
		good := s.try(t, c, 0)
		by := c.as
		if by == "" {
			by = "a person"
		}
		fmt.Fprintf(&all, "\n## %s, by %s\n%s", c.name, by, good)
		for n := 1; n <= good.uses; n++ {
			bad := s.try(t, c, n)
			fmt.Fprintf(&all, "use %d of the board fails: %s\n", n, bad.failed(good))
		}
	}
	recorded(t, "writes.txt", all.String())
}

// failed says how an attempt ended that came upon a failure of the board; good is the same one without it.
func (x tried) failed(good tried) string {
	said := slices.ContainsFunc(x.told, func(text string) bool { return strings.Contains(text, errNoDisk.Error()) })
	switch {
	case x.err == nil && said:
		return "only said"
	case x.err == nil && x.String() == good.String():
		return "done all the same"
	case x.err == nil:
		return "another result"
	case !errors.Is(x.err, errNoDisk):
		return plain(refusal(x.err))
	case x.writes > 0:
		return fmt.Sprintf("an error, after %d of %d writes", x.writes, good.writes)
	}
	return "an error"
}

// refusals: who may call a verb in which status, and what is said to the others: testdata/refusals.txt. What is refused leaves the
// board and the journal as they were.
func (s *scene) refusals(t *testing.T) {
	var tasks []string
	for x := range s.state.Tasks() {
		tasks = append(tasks, x.ID)
	}
	tasks = append(tasks, "nothing", "../bad")
	// Those that are not who they say are refused whatever it is about.
	few := []string{"claimed", "reviewed", "nothing"}
	callers := []struct {
		name, as string
		service  func(d *verb.Service)
	}{{name: "a person"}, {name: "coder-1", as: "coder-1"}, {name: "coder-2", as: "coder-2"}, {name: "code-reviewer-1", as: "code-reviewer-1"}, {name: "code-reviewer-2", as: "code-reviewer-2"},
		{name: "planner-1", as: "planner-1"},
		{name: "a person inside a run of coder-1", service: func(d *verb.Service) { d.Board.Caller.Inside = "coder-1" }},
		{name: "coder-1 with another's token", service: func(d *verb.Service) { d.Board.Caller = board.Caller{AgentID: "coder-1", Token: "forged"} }},
		{name: "an agent that says it is another", service: func(d *verb.Service) { d.Board.Caller = board.Caller{AgentID: "coder-1", As: "code-reviewer-1"} }}}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ofTask)) {
		fmt.Fprintf(&all, "\n## %s\n", name)
		var by []string // callers for whom it ends in the same way
		last := ""
		for _, c := range callers {
			about := tasks
			if c.service != nil {
				about = few
			}
			ends := ""
			for end, which := range s.ends(t, name, attempt{name: name, as: c.as, service: c.service}, about) {
				if len(which) == len(tasks) {
					which = []string{"all"}
				}
				ends += fmt.Sprintf("  %s: %s\n", strings.Join(which, " "), end)
			}
			if ends != last && by != nil {
				fmt.Fprintf(&all, "%s\n%s", strings.Join(by, ", "), last)
				by = nil
			}
			by, last = append(by, c.name), ends
		}
		fmt.Fprintf(&all, "%s\n%s", strings.Join(by, ", "), last)
	}
	recorded(t, "refusals.txt", all.String())
}

// ends are the ways in which a verb ends that is called for each of the tasks, in the order in which they come, with the tasks.
func (s *scene) ends(t *testing.T, name string, c attempt, tasks []string) iter.Seq2[string, []string] {
	t.Helper()
	of := map[string][]string{}
	var order []string
	for _, task := range tasks {
		c.call = func(ctx context.Context, d *verb.Service) (any, error) { return ofTask[name](ctx, d, task) }
		x := s.try(t, c, 0)
		end := "done"
		if x.err != nil {
			end = plain(strings.ReplaceAll(refusal(x.err), task, "TASK"))
			if x.writes > 0 {
				t.Errorf("%s of %s by %s was refused, and the board was written", name, task, c.as)
			}
		}
		if of[end] == nil {
			order = append(order, end)
		}
		of[end] = append(of[end], task)
	}
	return func(yield func(string, []string) bool) {
		for _, end := range order {
			if !yield(end, of[end]) {
				return
			}
		}
	}
}

// elsewhere are the methods that other tests are about, most because they change git; the last lines have the parts of which verbs
// are made.
var elsewhere = strings.Fields(`Template AcceptIntegration Adopt Archive ArchivedTask BaseChecks Behind Check CheckNow OpenPlace TryChecks Claim CloseFolder Drop Condensing Ensure Follow FollowControl FollowSettings
	FollowRemote ForeseeChecks OpenFolder Help IntegrationHead KeepFound KeepSecrets Look LookAtIntegration Merge MergeAgain Next Now PatchesOf Pick WorkOf PutBack RandomHex Recover RestoreIntegration SecretsOf
	SeeIntegration SprintJournal SprintTasks SubmissionFacts Sync TakeOver TipOf Unknown Update Event AdminOnly
	AdoptTip Apart BehindTip Clean CleanTask FindMissingWork FollowBreaker Identify NoteAnomaly OnlyPerson SetControl UpdateAhead WriteSummary
	Later Write HeartbeatWith KeepEnd ClaimReserved DropReserved ReserveNext ReviewNext ReviewFor Provide Confirm Cancel Again Leave HandOver PublishSubmission Publish Contact
	Already AsSystem AskedTip BaseRef ContainsBase Fetch KnownTip NewRegistration NoteIntegration OnBase ProposalOnto PutBranch RecoverScrub RunChecks
	Ask Reviewed Stop TakenAway TipHere Undone Unverified UpdateAs WaitsUnverified
	OpenJudged CloseJudged SettingsAt SettingsChanged
	Evidence EvidenceFile EvidenceOf WriteEvidence`)

// A verb that is added is added to a table.
func TestEachVerbIsInATable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for name := range ofTask {
		known[method(name)] = true
	}
	for _, c := range others {
		known[method(c.name)] = true
	}
	for _, name := range elsewhere {
		if known[name] {
			t.Errorf("%s is in a table and in the list of those that are not", name)
		}
		known[name] = true
	}
	failure := reflect.TypeFor[error]()
	for _, of := range []any{&verb.Service{}, verb.Agents{}, &worktree.Worktrees{}, verb.Reviews{}, verb.Merges{}, verb.Knowledge{}, &board.Session{}, board.Histories{}, board.Orphans{},
		board.Breaker{}, board.Vault{}, board.Roles{}, &integration.Branch{}, &checks.Checks{}} {
		for m := range reflect.TypeOf(of).Methods() {
			if n := m.Type.NumOut(); n > 0 && m.Type.Out(n-1) == failure && !known[m.Name] {
				t.Errorf("%s of %T returns an error and is in no table: see attempts_test.go", m.Name, of)
			}
			delete(known, m.Name)
		}
	}
	for _, name := range above(t) {
		if !known[name] {
			t.Errorf("%s returns an error and is in no table: see attempts_test.go", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("%s is in a table and is no verb", name)
	}
}

// above are the exported functions of the packages above that take the service and return an error: verbs made of verbs.
func above(t *testing.T) (names []string) {
	for _, dir := range []string{"../sprint", "../outcome", "../importer"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || !fn.Name.IsExported() || strings.HasSuffix(file, "_test.go") || fn.Type.Results == nil {
					continue
				}
				last, _ := fn.Type.Results.List[len(fn.Type.Results.List)-1].Type.(*ast.Ident)
				serves := slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool { return types.ExprString(p.Type) == "*verb.Service" })
				if serves && last != nil && last.Name == "error" {
					names = append(names, fn.Name.Name)
				}
			}
		}
	}
	return names
}

func method(name string) string {
	name, _, _ = strings.Cut(name, ",")
	return name
}
