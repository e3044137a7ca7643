package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb/verbtest"
)

// realGitea is a Gitea server with one user and one repository.
type realGitea struct {
	t          *testing.T
	url, token string
	deadly     *deadly
}

// startGitea starts the server of `make e2e-gitea` behind a deadly forge. It ends with the test, also when that is killed.
func startGitea(t *testing.T, folder string) *realGitea {
	t.Helper()
	work, err := os.MkdirTemp("", "liza-gitea-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	socket := filepath.Join(work, "http")
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "gitea"})
		r.Out.Host = r.In.Host
	}}
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	g := &realGitea{t: t, deadly: &deadly{sprint: &sprint{Place: verbtest.New(t), liza: lizaProgram(t)}, forge: proxy, killed: map[string]bool{}}}
	server := httptest.NewServer(g.deadly)
	t.Cleanup(server.Close)
	g.url = server.URL
	verbtest.Write(t, filepath.Join(work, "app.ini"), fmt.Sprintf(`RUN_MODE = prod
[server]
PROTOCOL = http+unix
HTTP_ADDR = %[1]s/http
ROOT_URL = %[2]s/
STATIC_ROOT_PATH = %[3]s
APP_DATA_PATH = %[1]s/data
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[repository]
ROOT = %[1]s/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
[log]
MODE = console
LEVEL = Warn
`, work, g.url, folder))
	gitea := func(script string, args ...string) *exec.Cmd {
		cmd := exec.Command("sh", append([]string{"-c", script, filepath.Join(folder, "gitea"), "-c", filepath.Join(work, "app.ini"), "-w", work}, args...)...)
		cmd.Dir, cmd.Env = work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "USER=nobody"}
		if os.Getuid() == 0 {
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			for _, path := range []string{work, filepath.Join(work, "app.ini")} {
				if err := os.Chown(path, nobody, nobody); err != nil {
					t.Fatal(err)
				}
			}
		}
		return cmd
	}
	for _, args := range [][]string{{"migrate"}, {"admin", "user", "create", "--username", "ada", "--random-password", "--email", "ada@example.com", "--must-change-password=false", "--access-token"}} {
		out, err := gitea(`exec "$0" "$@"`, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("gitea %v: %v\n%s", args, err, out)
		}
		if said := regexp.MustCompile(`Access token was .* ([0-9a-f]{40})`).FindSubmatch(out); said != nil {
			g.token = string(said[1])
		}
	}
	g.deadly.token = g.token
	// The end of the input, which is also that of a test that dies, ends the server.
	cmd := gitea(`"$0" "$@" < /dev/null & pid=$!; cat > /dev/null; kill $pid; wait $pid`, "web")
	log := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, 30*time.Second
	lives, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lives.Close()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", log)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not begin")
		}
	}
	g.call(http.MethodPost, "/user/repos", map[string]any{"name": "greeter", "default_branch": "main"}, nil)
	return g
}

// call uses the API as its user, past what kills.
func (g *realGitea) call(method, path string, body, into any) {
	g.t.Helper()
	data, _ := json.Marshal(body)
	r := httptest.NewRequestWithContext(g.t.Context(), method, g.url+"/api/v1"+path, bytes.NewReader(data))
	r.Header.Set("Authorization", "Bearer "+g.token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.deadly.forge.ServeHTTP(w, r)
	answer, _ := io.ReadAll(w.Body)
	if w.Code >= 300 {
		g.t.Fatalf("%s %s answered %d: %s", method, path, w.Code, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			g.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

type giteaRequest struct {
	Number int
	Title  string
	Body   string
	State  string
	Merged bool
	Head   struct{ Sha string }
}

func (g *realGitea) requests() []giteaRequest {
	g.t.Helper()
	var all []giteaRequest
	g.call(http.MethodGet, "/repos/ada/greeter/pulls?state=all", nil, &all)
	return all
}

// ci is what a CI outside of the server reports.
func (g *realGitea) ci(commit, state, text string) {
	g.t.Helper()
	g.call(http.MethodPost, "/repos/ada/greeter/statuses/"+commit, map[string]any{"context": "ci/unit", "state": state, "description": text}, nil)
}

// From a task to a merged request on a real Gitea: red CI, its fix, green; killed with SIGKILL before and after each call and push.
func TestALandingOnARealGiteaThatIsKilledAtEachStepHappensOnce(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("LIZA_E2E_GITEA")
	if folder == "" {
		t.Skip("make e2e-gitea runs it")
	}
	g := startGitea(t, folder)
	k := g.deadly
	// Git has the person's token where it always has it: a helper of the person's own configuration.
	own := t.TempDir()
	at, _ := url.Parse(g.url)
	helper := "store --file=" + filepath.Join(own, "credentials")
	verbtest.Write(t, filepath.Join(own, "credentials"), fmt.Sprintf("http://ada:%s@%s\n", g.token, at.Host))
	verbtest.Write(t, filepath.Join(own, "gitconfig"), "[credential]\n\thelper = "+helper+"\n")
	k.env = []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(own, "gitconfig")}
	k.Git(k.Dir, "remote", "add", "origin", g.url+"/ada/greeter.git")
	k.Git(k.Dir, "-c", "credential.helper="+helper, "push", "-q", "origin", "main")
	verbtest.Write(t, filepath.Join(k.Dir, ".liza", "config.yaml"), fmt.Sprintf("review: {baseline: false}\nland: {forge: gitea, url: '%s', merge: liza, draft: true}\n", g.url))
	k.AddTask("task-1")
	k.finish(t, "task-1")

	kills := k.untilItEnds(t, "land")
	all := g.requests()
	if len(all) != 1 || all[0].State != "open" || !strings.HasPrefix(all[0].Title, "WIP: ") {
		t.Fatalf("requests %+v", all)
	}
	g.ci(all[0].Head.Sha, "failure", "FAIL: it has no fix")
	clear(k.killed)
	kills += k.untilItEnds(t, "land")
	fix := k.State().Find("fix-1-1")
	if fix == nil || fix.Prefer != "coder-9" || !strings.Contains(fix.Description, "FAIL: it has no fix") {
		t.Fatalf("red CI made %+v", fix)
	}
	k.finish(t, "fix-1-1")
	clear(k.killed)
	kills += k.untilItEnds(t, "land")
	all = g.requests()
	if len(all) != 1 || all[0].Head.Sha != k.Git(k.Dir, "rev-parse", "integration") || !strings.Contains(all[0].Body, "### fix-1-1") {
		t.Fatalf("after the fix: %+v", all)
	}
	g.ci(all[0].Head.Sha, "success", "it passes")
	clear(k.killed)
	for range 20 { // the server finds out by and by that the request can be merged
		kills += k.untilItEnds(t, "land")
		if g.requests()[0].Merged {
			break
		}
		<-time.After(500 * time.Millisecond)
	}
	k.untilItEnds(t, "land")

	all = g.requests()
	s := k.State()
	if len(all) != 1 || !all[0].Merged || len(s.Requests) != 1 || s.Requests[0].Status != blackboard.RequestMerged {
		t.Fatalf("the board has %+v, the forge %+v", s.Requests, all)
	}
	k.Git(k.Dir, "-c", "credential.helper="+helper, "fetch", "-q", "origin")
	if merges := k.Git(k.Dir, "rev-list", "--count", "--first-parent", "origin/main"); merges != "2" || k.Git(k.Dir, "rev-parse", "origin/main") != s.Requests[0].Merge {
		t.Errorf("main has %s commits; the merge is %s", merges, s.Requests[0].Merge)
	}
	var said []any
	if g.call(http.MethodGet, "/repos/ada/greeter/issues/1/comments", nil, &said); len(said) != 0 {
		t.Errorf("the request has comments: %v", said)
	}
	k.logged(t, blackboard.RequestMerged, 2)
	k.nowhere(t, g.token)
	t.Logf("killed %d times; %d calls changed something", kills, k.writes)
	if kills < 50 {
		t.Errorf("it was killed %d times, want at least 50", kills)
	}
}
