package verb

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/review"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
)

// Knowledge has the verbs about facts: what the project has learned, and how it is kept short.
type Knowledge struct{ verbs *Service }

func factOf(f *blackboard.Fact) Fact {
	return Fact{ID: f.ID, Content: f.Content, Status: cmp.Or(f.Status, blackboard.FactActive), Source: f.Source, Task: f.Task, By: f.By, Category: f.Category,
		Created: f.Created, LastUsed: f.LastUsed, Uses: f.Uses, From: f.From}
}

// KnownFacts lists the active facts; with all those that wait for a person and archived ones too.
func (k Knowledge) KnownFacts(ctx context.Context, all bool) ([]Fact, error) {
	s, err := k.verbs.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	list, ids := []Fact{}, map[string]bool{}
	for _, f := range s.Facts {
		if all || f.Active() {
			list = append(list, factOf(f))
			ids[f.ID] = true
		}
	}
	if !all {
		return list, nil
	}
	archived, err := k.archivedFacts()
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Backward(archived) { // the newest form of each
		if !ids[f.ID] {
			ids[f.ID] = true
			f.Status = "archived"
			list = append(list, f.Fact)
		}
	}
	return list, nil
}

// factsFile is where facts go that leave the board.
func (k Knowledge) factsFile() string {
	return filepath.Join(k.verbs.Board.Project.ArchiveDir(), "facts.jsonl")
}

// archivedFacts reads what has left the board, oldest first. Lines that cannot be read, such
// as the end of a line that a killed process left, are not facts.
func (k Knowledge) archivedFacts() ([]archivedFact, error) {
	data, err := safefile.Read(k.factsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the archived facts: %v", err)
	}
	var list []archivedFact
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, board.MaxText)
	for lines.Scan() {
		var f archivedFact
		if json.Unmarshal(lines.Bytes(), &f) == nil && f.ID != "" {
			list = append(list, f)
		}
	}
	return list, lines.Err()
}

// archiveFacts appends facts to the archive, before they leave the board. A crash in between
// leaves them in both.
func (k Knowledge) archiveFacts(gone []*blackboard.Fact, why string) error {
	var data []byte
	for _, f := range gone {
		line, err := json.Marshal(archivedFact{Fact: factOf(f), Archived: blackboard.TimeOf(k.verbs.Board.Now()), Why: why})
		if err != nil {
			return fmt.Errorf("cannot archive %s: %v", f.ID, err)
		}
		data = append(append(data, line...), '\n')
	}
	if len(data) == 0 {
		return nil
	}
	if err := safefile.MakeFolder(k.verbs.Board.Project.ArchiveDir(), 0o755); err != nil {
		return fmt.Errorf("cannot archive the facts: %v", err)
	}
	if err := safefile.Append(k.factsFile(), data); err != nil {
		return fmt.Errorf("cannot archive the facts: %w", err)
	}
	return nil
}

// lessons is what has to be known before the facts of a verdict are stored.
type lessons struct {
	archived []archivedFact
	empty    bool // nothing was judged: no diff, no output
}

// lessons looks them up when the verdict brings facts. That they cannot be read refuses no
// verdict.
func (k Knowledge) lessons(ctx context.Context, s *blackboard.State, in VerdictInput) (l lessons) {
	if len(in.Learn) == 0 {
		return l
	}
	var err error
	if l.archived, err = k.archivedFacts(); err != nil {
		k.verbs.Board.Progressf("%v", err)
	}
	t := s.Task(in.Task)
	switch {
	case t == nil:
	case !t.ChangesFiles():
		l.empty = t.Output == nil || strings.TrimSpace(t.Output.Text) == ""
	case t.BaseCommit != "" && t.ReviewCommit != "":
		from, to, err := k.verbs.Integration.Proposal(ctx, s, t, t.ReviewCommit)
		l.empty = err == nil && from == to
	}
	return l
}

// learn stores what a reviewer learned about the project, at most three facts a verdict
// (specs/roles-and-knowledge.md#6.2). A bad one refuses no verdict: the journal says which rule it broke.
func (k Knowledge) learn(s *blackboard.State, a transition.Actor, in VerdictInput, l lessons, now time.Time) {
	status := blackboard.FactActive
	if k.verbs.Board.Config().Facts.Review {
		status = blackboard.FactPending
	}
	for i, text := range in.Learn {
		text = strings.TrimSpace(text)
		f, is := known(s, l.archived, text)
		why := k.noFact(s, text)
		switch {
		case i >= exitcmd.MaxLearn:
			why = fmt.Sprintf("a verdict brings %d facts at most", exitcmd.MaxLearn)
		case l.empty && why == "":
			why = "the judged work was empty"
		case why == "" && is:
			why = "it is known already"
			if f != nil {
				f.LastUsed = blackboard.TimeOf(now)
				why = "it is known as " + f.ID
			}
		}
		if why != "" {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactRefused, Task: in.Task,
				Detail: prose.FirstLine(why + ": " + text), Extra: map[string]any{"level": "warning"}})
			continue
		}
		transition.Learn(s, blackboard.Fact{Content: text, Status: status, Source: "reviewer", Task: in.Task, Category: "project"}, highest(l.archived), a, now)
	}
}

// highest is the highest number of an archived fact: ids are not used twice.
func highest(archived []archivedFact) int {
	n := 0
	for _, f := range archived {
		n = max(n, (&blackboard.Fact{ID: f.ID}).Number())
	}
	return n
}

// AddFact puts a fact on the board that a person or planner knows. It passes the filter of
// what reviewers learn.
func (k Knowledge) AddFact(ctx context.Context, content, category string) (Fact, error) {
	if err := k.verbs.Board.Clean(field("the text", &content)); err != nil {
		return Fact{}, err
	}
	content = strings.TrimSpace(content)
	if category = cmp.Or(category, "project"); !slices.Contains(blackboard.FactCategories, category) {
		return Fact{}, board.WrongUsage("liza help facts", "--category '%s' must be %s", category, strings.Join(blackboard.FactCategories, ", "))
	}
	archived, err := k.archivedFacts()
	if err != nil {
		return Fact{}, err
	}
	var out Fact
	err = k.verbs.Board.Update(ctx, "fact", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.MayKnow(s, a, "add facts", true, k.verbs.Board.Now()); err != nil {
			return err
		}
		if why := k.noFact(s, content); why != "" {
			return board.WrongUsage("liza help facts", "that is not a fact: %s", why)
		}
		if f, is := known(s, archived, content); is {
			if f == nil {
				return transition.Refuse(transition.ExitNothing, "liza facts --all", "that is known already, and was archived")
			}
			return board.NothingToDo("that is known already as " + f.ID + ": " + prose.FirstLine(f.Content))
		}
		out = factOf(transition.Learn(s, blackboard.Fact{Content: content, Status: blackboard.FactActive, Source: "human", Category: category}, highest(archived), a, k.verbs.Board.Now()))
		return nil
	})
	return out, err
}

// RemoveFacts moves facts to the archive, all or none.
func (k Knowledge) RemoveFacts(ctx context.Context, ids []string) error {
	var gone []*blackboard.Fact
	ahead := func([]store.Gone) error { return k.archiveFacts(gone, "removed by a person") }
	return k.verbs.Board.UpdateAhead(ctx, "facts", ahead, func(s *blackboard.State, a transition.Actor) (err error) {
		if err := transition.MayKnow(s, a, "remove facts", false, k.verbs.Board.Now()); err != nil {
			return err
		}
		gone, err = transition.RemoveFacts(s, ids, "removed", a, k.verbs.Board.Now())
		return err
	})
}

// ApproveFacts lets prompts have facts that waited for a person, all or none.
func (k Knowledge) ApproveFacts(ctx context.Context, ids []string) (already bool, err error) {
	err = k.verbs.Board.Update(ctx, "facts", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.MayKnow(s, a, "approve facts", false, k.verbs.Board.Now()); err != nil {
			return err
		}
		return transition.ApproveFacts(s, ids, a, k.verbs.Board.Now())
	})
	if transition.IsAlreadyDone(err) {
		return true, nil
	}
	return false, err
}

// factForms are the forms of texts that tell nothing lasting about the project.
type factForms struct {
	hash, agent, task, clock, line, code *regexp.Regexp
	varies                               *regexp.Regexp // what two facts that say the same may differ in
	status                               []*regexp.Regexp
}

// forms is compiled when the first fact is judged.
var forms = sync.OnceValue(func() factForms {
	few := `(?i)^\W*(?:\S+\s+){0,6}?`
	return factForms{
		varies: regexp.MustCompile(`\S*/\S*|\b[0-9a-f]*\d[0-9a-f]*\b|\d+`),
		hash:   regexp.MustCompile(`\b[0-9a-f]{7,40}\b`),
		agent:  regexp.MustCompile(`(?i)\b(?:planner|coder|code-reviewer)-\d+\b`),
		task:   regexp.MustCompile(`(?i)\btask-\d+\b`),
		clock:  regexp.MustCompile(`\b\d{4}-\d\d-\d\d(?:\b|T\d)|\b[0-2]?\d:[0-5]\d(?::[0-5]\d)?\b(?:\s*[ap]m\b)?`),
		line:   regexp.MustCompile(`(?i)^\W*(?:(?:see|at|in|on|look)\s+)*(?:\S+?[:,]?\s*)??(?:lines?\s+|:)\d+(?:\s*(?:-|to|and|,)\s*\d+)*(?:\s+(?:of|in)\s+\S+)?\W*$`),
		code:   regexp.MustCompile("(?s)^(?:```.*?(?:```|$)\\s*)+$|^`[^`]*`$"),
		status: []*regexp.Regexp{
			regexp.MustCompile(few + `(?:installed|started|completed|finished)\s+successfully\W*$`),
			regexp.MustCompile(`(?i)^\W*(?:(?:all|the|of|now|\d+|unit|integration|existing|new)\s+)*tests?\s+(?:(?:have|now|all)\s+)*pass(?:ed|es)?\W*$`),
			regexp.MustCompile(`(?i)^\W*(?:(?:it|this|that|the|all|code|change|diff|work|everything)\s+)*looks\s+good(?:\s+to\s+me)?\W*$`),
			regexp.MustCompile(`(?i)^\W*(?:(?:there|are|were|i|found|see)\s+)*no\s+issues?(?:\s+(?:were|was))?(?:\s+found)?\W*$`),
		},
	}
})

// noFact names the rule that keeps a text from being a fact, "" when none does
// (specs/roles-and-knowledge.md#6.2). Whether it is known already is known's to say.
func (k Knowledge) noFact(s *blackboard.State, text string) string {
	re, n := forms(), utf8.RuneCountInString(text)
	masked := text
	if k.verbs.Board.Secrets != nil {
		masked = k.verbs.Board.Secrets.Mask(text)
	}
	switch {
	case n < 15 || n > 500:
		return "it has not 15 to 500 characters"
	case masked != text || strings.Contains(text, "[REDACTED:") || review.Redact(text) != text:
		return "it contains a secret"
	case strings.HasSuffix(strings.TrimRight(text, " \"')"), "?"):
		return "it is a question"
	case re.code.MatchString(text):
		return "it is only code"
	case mixedHex(re.hash.FindAllString(strings.ToLower(text), -1)):
		return "it is about this run: it names a commit"
	case re.agent.MatchString(text) || re.task.MatchString(text) || namesTask(s, text):
		return "it is about this run: it names a task or an agent"
	case re.clock.MatchString(text):
		return "it is about this run: it names a time"
	case re.line.MatchString(text):
		return "it is about this run: it names only a line"
	case strings.Contains(text, ".worktrees/"):
		return "it is about this run: it names a worktree"
	}
	for _, status := range re.status {
		if status.MatchString(text) {
			return "it says only how a run went"
		}
	}
	return ""
}

// mixedHex tells a commit from a number and from a word.
func mixedHex(words []string) bool {
	for _, w := range words {
		if len(w) == 40 || strings.ContainsAny(w, "0123456789") && strings.ContainsAny(w, "abcdef") {
			return true
		}
	}
	return false
}

// namesTask reports whether a task of the board is named whose id is not a plain word.
func namesTask(s *blackboard.State, text string) bool {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' }) {
		words[w] = true
	}
	for t := range s.Tasks() {
		if words[t.ID] && strings.ContainsAny(t.ID, "0123456789-_") {
			return true
		}
	}
	return false
}

// known finds the fact that says the same: letter by letter with one on the board or in the
// archive, but for paths and numbers with an active one. The archived one has no entry on the board.
func known(s *blackboard.State, archived []archivedFact, text string) (f *blackboard.Fact, is bool) {
	plain := lettersOnly(text)
	for _, f := range s.Facts {
		if lettersOnly(f.Content) == plain || f.Active() && wordsOnly(f.Content) == wordsOnly(text) {
			return f, true
		}
	}
	for _, f := range archived {
		if lettersOnly(f.Content) == plain {
			return nil, true
		}
	}
	return nil, false
}

// wordsOnly is a text in lower case without paths, hex words and digits.
func wordsOnly(text string) string {
	return strings.Join(strings.Fields(forms().varies.ReplaceAllLiteralString(strings.ToLower(text), " ")), " ")
}

// lettersOnly are the letters and digits of a text, in lower case.
func lettersOnly(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// archivedFact is one line of .liza/archive/facts.jsonl: a fact as it was (specs/roles-and-knowledge.md#6.3).
type archivedFact struct {
	Fact
	Archived blackboard.Time `json:"archived"`
	Why      string          `json:"why"`
}

// Fact is a fact in the form in which it leaves the board.
type Fact struct {
	ID       string          `json:"id"`
	Content  string          `json:"content"`
	Status   string          `json:"status"` // active, pending or archived
	Source   string          `json:"source,omitempty"`
	Task     string          `json:"task,omitempty"`
	By       string          `json:"by,omitempty"`
	Category string          `json:"category,omitempty"`
	Created  blackboard.Time `json:"created,omitempty"`
	LastUsed blackboard.Time `json:"last_used,omitempty"`
	Uses     int             `json:"uses"`
	From     []string        `json:"from,omitempty"`
}
