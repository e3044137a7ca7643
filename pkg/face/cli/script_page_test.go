package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// block is a fenced block of a page: commands, or what the commands before it print.
var block = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// cmdPage runs the sh blocks of a page one after the other in one shell, as a reader would. Of what a text block
// shows, each line has to be in what the block before it has printed, in this order; … is any text.
func cmdPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: page FILE [HEADING]")
	}
	text, err := os.ReadFile(filepath.Join(ts.Getenv("SPECS"), args[0]))
	ts.Check(err)
	if len(args) == 2 {
		_, section, found := strings.Cut(string(text), "\n## "+args[1]+"\n")
		if !found {
			ts.Fatalf("%s has no heading %q", args[0], args[1])
		}
		section, _, _ = strings.Cut(section, "\n## ")
		text = []byte(section)
	}
	const end = "\x1e"
	script, wants := "set -euo pipefail\nexec 2>&1\n", []string{}
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		if b[1] == "sh" {
			script += b[2] + "printf '" + end + "'\n"
			wants = append(wants, "")
		} else if len(wants) > 0 {
			wants[len(wants)-1] = b[2]
		}
	}
	if len(wants) == 0 {
		ts.Fatalf("%s has no commands", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(".tmp/page.sh"), []byte(script), 0o644))
	failed := ts.Exec("bash", ts.MkAbs(".tmp/page.sh"))
	printed := strings.Split(ts.ReadFile("stdout"), end)
	if failed != nil {
		ts.Fatalf("%s: block %d ended with %v after\n%s", args[0], len(printed), failed, printed[len(printed)-1])
	}
	for i, want := range wants {
		rest := printed[i]
		for line := range strings.Lines(want) {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", `.*`)
			pattern = regexp.MustCompile(` +`).ReplaceAllString(pattern, ` +`)
			at := regexp.MustCompile(pattern).FindStringIndex(rest)
			if at == nil {
				ts.Fatalf("%s: block %d does not print %q after what comes before it, but\n%s", args[0], i+1, line, printed[i])
			}
			rest = rest[at[1]:]
		}
	}
}
