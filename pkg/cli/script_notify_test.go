package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"liza/pkg/forge/forgetest"
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
	ts.Defer(func() {
		stop()
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
