package verb

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"liza/pkg/blackboard"
	"liza/pkg/breaker"
	"liza/pkg/review"
)

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
func (d *Service) noFact(s *blackboard.State, text string) string {
	re, n := forms(), utf8.RuneCountInString(text)
	masked := text
	if d.Secrets != nil {
		masked = d.Secrets.Mask(text)
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
// archive, nearly with an active one. The archived one has no entry on the board.
func known(s *blackboard.State, archived []ArchivedFact, text string) (f *blackboard.Fact, is bool) {
	plain := lettersOnly(text)
	for _, f := range s.Facts {
		if lettersOnly(f.Content) == plain || f.Active() && breaker.Alike(wordsOnly(f.Content), wordsOnly(text)) {
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

// ArchivedFact is one line of .liza/archive/facts.jsonl: a fact as it was (specs/roles-and-knowledge.md#6.3).
type ArchivedFact struct {
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
