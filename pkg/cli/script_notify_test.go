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
