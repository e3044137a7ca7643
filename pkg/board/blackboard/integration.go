package blackboard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// The kinds of a MoveIntent.
const (
	MoveSync  = "sync"
	MoveAgain = "again"
)

// Tip returns the commit at which Liza left the integration branch, or "" if unknown: the board is older than this record.
func (s *State) Tip() string {
	if s.Integration == nil {
		return ""
	}
	return s.Integration.Tip
}

// ForeignTip reports whether tip, the present commit of the integration branch or "" if there is no branch, was not made by
// Liza. The target of an interrupted merge was.
func (s *State) ForeignTip(tip string) bool {
	known := s.Tip()
	if known == "" || tip == known {
		return false
	}
	if i := s.Integration.Intent; i != nil && i.Commit == tip && i.Old == known {
		return false
	}
	for t := range s.Tasks() {
		if i := t.MergeIntent; i != nil && t.Status == Approved && i.Commit == tip && i.Old == known {
			return false
		}
	}
	return true
}

// MovedText returns a line with tip, the present commit of the integration branch, and the commit at which Liza left it.
func MovedText(s *State, tip string) string {
	branch, known := s.IntegrationBranch(), ShortCommit(s.Tip())
	if tip == "" {
		return branch + " does not exist any more; Liza left it at " + known
	}
	return branch + " is at " + ShortCommit(tip) + ", which Liza did not make; Liza left it at " + known
}

// DecideTip returns the command for a person's decision about a branch that was moved to tip.
func DecideTip(tip string) string {
	if tip == "" {
		return "liza sync --restore"
	}
	return "liza sync --accept, or liza sync --restore"
}

// CheckQuestion returns the question of a kind (QuestionUnverified, QuestionUnable) about a command of a check, or nil if it was not
// asked, or is over.
func (s *State) CheckQuestion(kind, command string) *Question {
	for _, q := range s.Questions {
		if q.Kind == kind && q.Check == command && (q.Status == QuestionOpen || q.Status == QuestionAnswered) {
			return q
		}
	}
	return nil
}

// OfCheck reports whether the question is about a command of a check, so that a person alone answers it.
func (q *Question) OfCheck() bool { return q.Kind == QuestionUnverified || q.Kind == QuestionUnable }

// UnverifiedText returns how many merges of the tasks no check verified, or "" if none.
func UnverifiedText(tasks []*Task) string {
	merged, bare := 0, 0
	for _, t := range tasks {
		if t.Status == Merged && t.ChangesFiles() {
			merged++
			if len(t.Unverified) > 0 {
				bare++
			}
		}
	}
	if bare == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d merges not verified", bare, merged)
}

// A Gap is a field of a task that keeps the task from being claimed.
type Gap struct {
	Field string // done_when, spec_ref, …
	Wrong string // what is wrong with its value; "" if it has none
}

func (g Gap) String() string {
	switch {
	case g.Wrong == "":
		return "missing: " + g.Field
	case g.Field == "legacy_tests":
		return g.Wrong
	}
	return g.Field + " " + g.Wrong
}

// gaps is a list of gaps.
type gaps []Gap

func (g gaps) String() string {
	var texts []string
	for _, one := range g {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; ")
}

// Gates applies the planner's self-validation gates to one task (specs/roles-and-knowledge.md#3.3, gate by gate, and 3.4 for
// done_when) and returns the gaps. It does not check whether the spec exists and whether the dependencies are
// sound.
func (t *Task) Gates() gaps {
	var bad gaps
	missing := func(name, value string) bool {
		if strings.TrimSpace(value) == "" {
			bad = append(bad, Gap{Field: name})
			return true
		}
		return false
	}
	missing("description", t.Description)
	missing("spec_ref", t.SpecRef)
	noCriterion := missing("done_when", t.DoneWhen)
	if !noCriterion && (t.ChangesFiles() || t.ReviewRequired) {
		if why := LintDoneWhen(t.DoneWhen, t.Description, t.TitleText()); why != "" {
			bad = append(bad, Gap{"done_when", why})
		}
	}
	if !t.ChangesFiles() {
		return bad
	}
	if !missing("scope", t.Scope) && sameText(t.Scope, t.Description) {
		bad = append(bad, Gap{"scope", "repeats the description; say what is in and what is out"})
	}
	if t.KindOf() == CodeTask && t.testsOnly() && strings.TrimSpace(t.LegacyTests) == "" {
		bad = append(bad, Gap{"legacy_tests", "tests belong to the task whose code they test; a task of its own needs legacy_tests (--legacy-tests WHY)"})
	}
	return bad
}

// testsOnly reports whether the task only writes tests: by its type, or by a title such as
// "Add unit tests for the parser". "Add a parser with tests" does more.
func (t *Task) testsOnly() bool {
	switch t.Type {
	case "test":
		return true
	case "docs", "config", "spec":
		return false
	}
	words := titleWord().FindAllString(strings.ToLower(t.TitleText()), -1)
	text := strings.Join(words, " ")
	if testsTitle().MatchString(text) {
		return true
	}
	if len(words) < 2 || !slices.Contains(writing, words[0]) {
		return false
	}
	for i, word := range words[1:min(len(words), 6)] {
		next := ""
		if i+2 < len(words) {
			next = words[i+2]
		}
		switch {
		case word == "tests", word == "test" && (next == "" || slices.Contains(connecting, next) || slices.Contains([]string{"suite", "suites", "case", "cases", "coverage"}, next)):
			return true
		case slices.Contains(connecting, word):
			return false
		}
	}
	return false
}

var (
	writing    = strings.Fields("add write create improve extend increase expand raise implement provide complete develop strengthen")
	connecting = strings.Fields("with and plus including for to in of that which via using by from on")

	// testsTitle matches a title that is about tests without one of those words at its beginning, or about how much they cover.
	testsTitle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:more|unit|integration|regression|missing|better|end-to-end) )*tests (?:for|of)\b|^test (?:the|all|that|every|whether)\b|` +
			`^(?:improve|increase|raise|extend) .*\bcoverage\b|^cover .*\b(?:with|by) (?:\S+ )?tests$`)
	})
)

var titleWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN]+(-[\pL\pN]+)*`) })

var (
	openText  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\btbd\b|\btodo\b|\?\?\?|to be decided`) })
	vagueText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(works|works (correctly|properly|well|fine)|as expected|as intended|properly|correctly|appropriately|gracefully|robust(ly)?|reliabl[ey]|` +
			`user-friendly|intuitive|clean(ly)?|good|nice|better|improved|optimized|fast|efficient(ly)?|handles errors|error handling|handled|supports|as needed|if necessary|etc|` +
			`and so on|should be ok|completed?|done|finished|implemented)\b`)
	})
	// emptyText matches a whole criterion that is true of any task, or that cannot be seen.
	emptyText    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + strings.Join(emptyCriteria, "|") + `)$`) })
	concreteMark = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`[0-9]`), regexp.MustCompile("[\"`“”][^\"`“”]+[\"`“”]|'[^']+'"), regexp.MustCompile(`\w/|/\w|\b\w+\.[a-z]{1,5}\b`),
			regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b`),
			regexp.MustCompile(`\w_\w|\w\(\)|::|[a-zA-Z]\.[a-zA-Z]|[a-z][A-Z]`), regexp.MustCompile(`(^|\s)--?[a-zA-Z]`), regexp.MustCompile(`[=<>]`),
			regexp.MustCompile(`(?i)\b(returns|prints|exits|fails|passes|rejects|raises|contains|creates|lists|shows)\s+\w`),
		}
	})
)

// emptyCriteria are whole criteria without content: they hold for any task (tests, quality), or cannot be observed (feelings,
// "all edge cases").
var emptyCriteria = []string{
	`(?:(?:all|the|every|unit|existing|new|relevant|our|its|integration) )*(?:tests?|test suite|checks?|ci|build|pipeline|code|lint(?:er)?|project|program)(?: and (?:the )?(?:tests?|checks?|ci|build|lint(?:er)?))*` +
		` (?:(?:all|still|now|always|is|are|stays?|remains?) )*(?:pass(?:es|ing)?|green|succeeds?|succeed|compiles?|builds?|runs?|readable|maintainable|(?:well )?tested)`,
	`.*\b(?:users?|customers?|stakeholders?|everyone|everybody|people|team|reviewers?|product owner) (?:is|are|feels?|will be) (?:happy|satisfied|pleased|delighted|content|fine)\b.*`,
	`(?:(?:all|most|any|every|the|relevant|possible|important|usual|known) )*(?:edge|corner|error|special) cases? (?:is|are|get) (?:covered|considered|tested|dealt with|taken care of|thought of)`,
	`(?:the )?(?:\w+ ){0,2}?(?:quality|performance|readability|maintainability|usability|stability|security|coverage) (?:is|has|gets?) (?:been )?(?:increased|enhanced|higher|high|acceptable|sufficient|adequate|ok)`,
	`(?:there are )?no (?:more )?(?:bugs|errors|problems|issues|regressions)(?: (?:remain|exist|are left|occur|are known|any more))?`,
	`(?:\w+ ){0,4}(?:is|are) (?:ready(?: (?:for|to) \w+)?|production[- ]ready|stable|usable|acceptable|sufficient|adequate|easy to use|bug[- ]free|perfect|great|fixed|refactored|cleaned up|ok|okay|fine)`,
	`(?:\w+ ){0,4}(?:behaves?|runs?|performs?|looks?|feels?|responds?) (?:as it should|well|fine|ok|okay|normally|smoothly|right|great|quickly)`,
}

// LintDoneWhen returns why a completion criterion is not falsifiable, or "" if it is.
func LintDoneWhen(doneWhen, description, title string) string {
	text := strings.TrimSpace(doneWhen)
	lower := strings.ToLower(text)
	switch {
	case utf8.RuneCountInString(text) < 8:
		return "is shorter than 8 characters: name an observable result"
	case sameText(text, description) || sameText(text, title):
		return "repeats the description: name an observable result"
	case openText().MatchString(lower):
		return "is not decided yet: name an observable result"
	}
	vague := vagueText().FindString(withoutNames(lower))
	if vague == "" {
		vague = emptyText().FindString(strings.TrimRight(lower, " .!"))
	}
	if vague != "" && !isConcrete(text) {
		return "is vague (\"" + vague + "\"): name an observable result, such as a status code, an output or a file"
	}
	return ""
}

// DoubtDoneWhen returns a warning about a concrete criterion with a vague phrase, or "".
func DoubtDoneWhen(doneWhen string) string {
	if vague := vagueText().FindString(withoutNames(strings.ToLower(doneWhen))); vague != "" && isConcrete(doneWhen) {
		return "\"" + vague + "\" says little; a reviewer will judge by the rest"
	}
	return ""
}

// namedThing matches a file name or another name, which may be any word.
var namedThing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:(file|folder|directory|script|branch|command) \S+ (exists?|holds?|contains?|has|says?|lists?|prints?|is (?:there|created|empty|removed))|(called|named) \S+)`)
})

// withoutNames leaves names out of a text: a file may be called good.
func withoutNames(text string) string { return namedThing().ReplaceAllString(text, "$1$3 $2") }

// fillers are words that say nothing about the obstacle of a task.
var fillers = strings.Fields(`a am an and at be been blocked can cant cannot continue do doesnt dont for go got help how i idea im in is it its just know me more my na need no
	none not now of on or please progress proceed so some something stopped stuck task tbd that the there this to todo too unable unclear unknown very we what why wip with wont work works working x`)

// LintReason returns why the reason of a block has no content, or "" if it has some.
func LintReason(reason string) string {
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(reason), "'", ""), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > 1 && !slices.Contains(fillers, word) {
			return ""
		}
	}
	return fmt.Sprintf("%q says nothing: name what is in the way, such as a file, an error message or a decision that is missing", strings.TrimSpace(reason))
}

func isConcrete(text string) bool {
	for _, mark := range concreteMark() {
		if mark.MatchString(text) {
			return true
		}
	}
	return false
}

// sameText compares two texts by their letters and digits.
func sameText(a, b string) bool { return plainText(a) == plainText(b) }

func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// HasTurn reports whether term is the term of the present turn.
func (i *Integration) HasTurn(term int) bool {
	return i != nil && i.Turn != nil && i.Turn.Term == term && i.Turn.Host != ""
}

// TurnOfAnother reports whether a host other than host merges now.
func (i *Integration) TurnOfAnother(host string, now time.Time) bool {
	if i == nil || i.Turn == nil || i.Turn.Host == "" || i.Turn.Host == host {
		return false
	}
	until, known := i.Turn.Until.At()
	return known && now.Before(until)
}
