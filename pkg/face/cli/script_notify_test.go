package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"liza/pkg/code/forge/forgetest"
)

// cmdReceiver is a webhook on this machine, until the script ends.
func cmdReceiver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: receiver FILE CODE…")
	}
	var codes []int
	for _, arg := range args[1:] {
		code, err := strconv.Atoi(arg)
		ts.Check(err)
		codes = append(codes, code)
	}
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		code := http.StatusOK
		if len(codes) > 0 {
			code, codes = codes[0], codes[1:]
		}
		fmt.Fprintf(file, "%d %s %t %s\n", code, r.Header.Get("X-Liza-Id"), r.Header.Get("X-Liza-Signature") != "", body)
		w.WriteHeader(code)
	}))
	ts.Defer(func() { server.Close(); file.Close() })
	ts.Setenv("HOOK", server.URL+"/hook")
}

// cmdForge is a scripted forge on this machine, until the script ends; its CI is a shell command. The repository of the script gets it
// as the remote origin, and the settings of the section land.
func cmdForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: forge KIND CI")
	}
	dir := ts.MkAbs(".tmp")
	f, stop, err := forgetest.Start(dir)
	ts.Check(err)
	f.CI = args[1]
	forges.Store(dir, f)
	ts.Defer(func() {
		stop()
		forges.Delete(dir)
		if len(f.Leaks) > 0 {
			ts.Fatalf("the token went to another host: %v", f.Leaks)
		}
	})
	ts.Setenv("FORGE_API", f.API(args[0]))
	ts.Setenv("FORGE_GIT", f.Git)
	ts.Setenv("FORGE_TOKEN", forgetest.Token)
	ts.Check(ts.Exec("git", "remote", "add", "origin", f.Git))
	ts.Check(ts.Exec("git", "push", "-q", "origin", "main"))
}

// forges are those of running scripts, by their folder.
var forges sync.Map

// cmdHook is the forge that calls a webhook of the liza serve whose output is in FILE: about an issue, or about a request when that is 0.
func cmdHook(ts *testscript.TestScript, neg bool, args []string) {
	there, ok := forges.Load(ts.MkAbs(".tmp"))
	if neg || !ok || len(args) < 5 {
		ts.Fatalf("usage: hook FILE KIND SECRET ID ISSUE [old|large|forged]; after forge")
	}
	url := regexp.MustCompile(`http://[0-9.:]+/`).FindString(ts.ReadFile(args[0]))
	issue, err := strconv.Atoi(args[4])
	ts.Check(err)
	how, at := append(args, "")[5], time.Now()
	if how == "old" {
		at = at.Add(-11 * time.Minute)
	}
	header, body := there.(*forgetest.Forge).Hook(args[1], args[2], args[3], issue, at)
	switch how {
	case "large":
		body = append(body, strings.Repeat(" ", 1<<20)...)
	case "forged":
		body = append(body, ' ')
	}
	r, err := http.NewRequest(http.MethodPost, url+"hooks/"+args[1], strings.NewReader(string(body)))
	ts.Check(err)
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	_, _ = fmt.Fprintf(ts.Stdout(), "%d %s", answer.StatusCode, text)
}

// cmdIssue is what a person does in the forge's tracker.
func cmdIssue(ts *testscript.TestScript, neg bool, args []string) {
	there, ok := forges.Load(ts.MkAbs(".tmp"))
	if neg || !ok || len(args) == 0 {
		ts.Fatalf("usage: issue add TITLE BODY LABEL…, issue edit N TITLE BODY, issue close N, issue list; after forge")
	}
	f := there.(*forgetest.Forge)
	number := func() int {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		return n
	}
	switch {
	case args[0] == "add" && len(args) > 3:
		f.AddIssue(args[1], args[2], args[3:]...)
	case args[0] == "edit" && len(args) == 4:
		f.EditIssue(number(), func(i *forgetest.Issue) { i.Title, i.Body = args[2], args[3] })
	case args[0] == "close" && len(args) == 2:
		f.EditIssue(number(), func(i *forgetest.Issue) { i.State = "closed" })
	case args[0] == "list" && len(args) == 1:
		for _, i := range f.Issues() {
			_, _ = fmt.Fprintf(ts.Stdout(), "%d %s: %s (%d comments)\n", i.Number, i.State, i.Title, len(i.Comments))
			for _, c := range i.Comments {
				_, _ = fmt.Fprintln(ts.Stdout(), c.Text)
			}
		}
	default:
		ts.Fatalf("issue %v is not known", args)
	}
}
