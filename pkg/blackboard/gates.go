package blackboard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Gates applies the planner's self-validation gates to one task (specs/roles-and-knowledge.md#3.3,
// gate by gate, and 3.4 for done_when) and returns what is missing or wrong, one text each.
// Whether the spec file exists and the dependencies are sound is checked elsewhere.
func (t *Task) Gates() []string {
	var bad []string
	missing := func(name, value string) bool {
		if strings.TrimSpace(value) == "" {
			bad = append(bad, "missing: "+name)
			return true
		}
		return false
	}
	missing("description", t.Description)
	missing("spec_ref", t.SpecRef)
	noCriterion := missing("done_when", t.DoneWhen)
	if !noCriterion && (t.ChangesFiles() || t.ReviewRequired) {
		if why := LintDoneWhen(t.DoneWhen, t.Description, t.TitleText()); why != "" {
			bad = append(bad, "done_when "+why)
		}
	}
	if !t.ChangesFiles() {
		return bad
	}
	if !missing("scope", t.Scope) && sameText(t.Scope, t.Description) {
		bad = append(bad, "scope repeats the description; say what is in and what is out")
	}
	if t.KindOf() == CodeTask && t.testsOnly() && strings.TrimSpace(t.LegacyTests) == "" {
		bad = append(bad, "tests belong to the task whose code they test; a task of its own needs legacy_tests (--legacy-tests WHY)")
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
	if len(words) < 2 || words[0] != "add" && words[0] != "write" && words[0] != "create" {
		return false
	}
	for _, word := range words[1:min(len(words), 6)] {
		switch word {
		case "test", "tests":
			return true
		case "with", "and", "plus", "including", "for", "to", "in", "of", "that", "which", "via", "using", "by", "from", "on":
			return false
		}
	}
	return false
}

var titleWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\pN]+(-[\pL\pN]+)*`) })

var (
	openText  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\btbd\b|\btodo\b|\?\?\?|to be decided`) })
	vagueText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(works|works (correctly|properly|well|fine)|as expected|as intended|properly|correctly|appropriately|gracefully|robust(ly)?|reliabl[ey]|` +
			`user-friendly|intuitive|clean(ly)?|good|nice|better|improved|optimized|fast|efficient(ly)?|handles errors|error handling|handled|supports|as needed|if necessary|etc|` +
			`and so on|should be ok|completed?|done|finished|implemented)\b`)
	})
	concreteMark = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`[0-9]`), regexp.MustCompile("[\"`“”][^\"`“”]+[\"`“”]|'[^']+'"), regexp.MustCompile(`\w/|/\w|\b\w+\.[a-z]{1,5}\b`),
			regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b`),
			regexp.MustCompile(`\w_\w|\w\(\)|::|[a-zA-Z]\.[a-zA-Z]|[a-z][A-Z]`), regexp.MustCompile(`(^|\s)--?[a-zA-Z]`), regexp.MustCompile(`[=<>]`),
			regexp.MustCompile(`(?i)\b(returns|prints|exits|fails|passes|rejects|raises|contains|creates|lists|shows)\s+\w`),
		}
	})
)

// LintDoneWhen says why a completion criterion is not falsifiable, or "" when it will do.
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
	if vague := vagueText().FindString(withoutNames(lower)); vague != "" && !isConcrete(text) {
		return "is vague (\"" + vague + "\"): name an observable result, such as a status code, an output or a file"
	}
	return ""
}

// DoubtDoneWhen is the warning about a criterion that has a vague phrase beside something
// concrete, "" for none.
func DoubtDoneWhen(doneWhen string) string {
	if vague := vagueText().FindString(withoutNames(strings.ToLower(doneWhen))); vague != "" && isConcrete(doneWhen) {
		return "\"" + vague + "\" says little; a reviewer will judge by the rest"
	}
	return ""
}

// namedThing matches the name of a file or the like, which may be any word.
var namedThing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:(file|folder|directory|script|branch|command) \S+ (exists?|holds?|contains?|has|says?|lists?|prints?|is (?:there|created|empty|removed))|(called|named) \S+)`)
})

// withoutNames leaves names out of a text: a file may be called good.
func withoutNames(text string) string { return namedThing().ReplaceAllString(text, "$1$3 $2") }

// fillers are words that say nothing about what is in the way of a task.
var fillers = strings.Fields(`a am an and at be been blocked can cant cannot continue do doesnt dont for go got help how i idea im in is it its just know me more my na need no
	none not now of on or please progress proceed so some something stopped stuck task tbd that the there this to todo too unable unclear unknown very we what why wip with wont work works working x`)

// LintReason says why the reason of a block says nothing, "" when it says something.
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
