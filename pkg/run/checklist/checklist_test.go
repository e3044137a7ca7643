package checklist

import (
	"fmt"
	"strings"
	"testing"
)

const specKit = "# Tasks: Albums\n\n- **[P]**: not an item\n\n## Phase 1: Setup\n\n- [x] T001 Make the project\n- [ ] T002 [P] [US1] Add `Album` in src/album.go\n  - verify: `go test ./...`\n  - [ ] with a test\n\n" +
	"```\n- [ ] T003 in a block of code\n```\n\n## Phase 2: Use\r\n\r\n- [ ] **T004** Show it\r\n\r\nText.\r\n  - [ ] T005 indented, but below no item\r\n"

func TestItemsHaveTheirIdHeadingDetailAndState(t *testing.T) {
	t.Parallel()
	want := `T001|true|Make the project||Phase 1: Setup|true
T002|true|[P] [US1] Add ` + "`Album`" + ` in src/album.go|  - verify: ` + "`go test ./...`" + `/  - [ ] with a test|Phase 1: Setup|false
T004|true|Show it||Phase 2: Use|false
T005|true|indented, but below no item||Phase 2: Use|false
`
	var got strings.Builder
	for _, i := range Parse(specKit) {
		fmt.Fprintf(&got, "%s|%v|%s|%s|%s|%v\n", i.Key, i.ID, i.Text, strings.ReplaceAll(strings.TrimSuffix(i.Detail, "\n"), "\n", "/"), i.Heading, i.Done)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestItemsWithoutAnIdAreNamedByTheirTextAndNeverTwice(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, i := range Parse("* [ ] Say hello, twice!\n1. [X] Say hello twice\n- [ ] Say hello twice 2\n+ [ ] 1.2 Numbered\n- [ ] Überall\n- [ ] 🎉\n- [ ] SHA-256 everywhere\n- []  no box\n") {
		keys = append(keys, i.Key)
	}
	if got, want := strings.Join(keys, " "), "say-hello-twice say-hello-twice-2 say-hello-twice-2-2 1.2 berall item SHA-256"; got != want {
		t.Errorf("keys %q, want %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(specKit)
	f.Add("- [ ] \x00\xff\n~~~\n- [x] a")
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		for _, i := range Parse(text) {
			if seen[i.Key] {
				t.Errorf("two items are %q", i.Key)
			}
			seen[i.Key] = true
		}
	})
}
