package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"liza/pkg/base/safefile"
	"liza/pkg/face/verbs"
)

// example is a command of specs/http-api.md with the answer below it.
type example struct {
	path, command, answer string
	status                string
}

var heading = regexp.MustCompile(`^### ((?:GET|POST) /\S+)$`)

// examplesOf reads the examples of a document, in their order.
func examplesOf(document string) []example {
	var all []example
	path, status, block := "", "200", ""
	for line := range strings.Lines(document) {
		line = strings.TrimSuffix(line, "\n")
		switch m := heading.FindStringSubmatch(line); {
		case block == "" && m != nil:
			path = m[1]
		case block == "" && strings.HasPrefix(line, "HTTP "):
			status = strings.TrimPrefix(line, "HTTP ")
		case block == "" && strings.HasPrefix(line, "```"):
			if block = line; block == "```sh" {
				all, status = append(all, example{path: path}), "200"
			}
		case line == "```":
			block = ""
		case block == "```sh":
			all[len(all)-1].command += line + "\n"
		case block != "":
			all[len(all)-1].answer += line + "\n"
			all[len(all)-1].status = status
		}
	}
	return all
}

// Every example of the document works as it stands there, and every path has one.
func TestTheExamplesOfTheHTTPAPIWork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("NOT RUN: curl is not on this machine")
	}
	document, err := safefile.Read(filepath.Join("..", "..", "..", "specs", "http-api.md"))
	must(t, nil, err)
	s := newSite(t, gallery(t))
	home := t.TempDir()
	must(t, nil, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nwrite-out = \"\\nHTTP %{http_code}\"\n"), 0o600))
	documented := map[string]bool{}
	for _, e := range examplesOf(string(document)) {
		documented[e.path] = true
		cmd := exec.CommandContext(t.Context(), "sh", "-c", e.command)
		cmd.Env = append(os.Environ(), "LIZA=http://"+s.address, "TOKEN="+s.token, "CURL_HOME="+home)
		out, _ := cmd.Output() // a stream ends by curl's own limit
		if wrong := e.differs(string(out)); wrong != "" {
			t.Errorf("%s%s: %s", e.command, out, wrong)
		}
	}
	for _, path := range servedPaths(t) {
		if !documented["GET "+path] && !documented["POST "+path] {
			t.Errorf("specs/http-api.md has no example of %s", path)
		}
	}
}

// servedPaths returns the paths of the API: of what there is to see as its source has them, and those of the verbs.
func servedPaths(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, file := range []string{"read.go", "web.go"} {
		text, err := safefile.Read(filepath.Join("..", "dashboard", "web", file))
		must(t, nil, err)
		for _, m := range regexp.MustCompile(`"(/(?:api/|metrics)[^" ]*)"`).FindAllStringSubmatch(string(text), -1) {
			paths = append(paths, m[1])
		}
	}
	for _, v := range verbs.All() {
		if v.Route != "" {
			paths = append(paths, v.Route)
		}
	}
	if len(paths) < 30 {
		t.Fatalf("the source has the paths %v only", paths)
	}
	return paths
}

// differs says how an answer is not of the documented form, "" when it is.
func (e example) differs(answer string) string {
	if !strings.HasPrefix(e.answer, "{") && !strings.HasPrefix(e.answer, "[") {
		digits := regexp.MustCompile(`\d+`)
		if want := digits.ReplaceAllString(strings.TrimSuffix(e.answer, "\n"), "N"); !strings.HasPrefix(digits.ReplaceAllString(answer, "N"), want) {
			return "documented is " + e.answer
		}
		return ""
	}
	at := strings.LastIndex(answer, "\nHTTP ")
	if at < 0 {
		return "there is no answer"
	}
	if status := answer[at+len("\nHTTP "):]; status != e.status {
		return "the status is " + status + ", documented is " + e.status
	}
	var want, got any
	if err := json.Unmarshal([]byte(e.answer), &want); err != nil {
		return "the documented answer is not JSON: " + err.Error()
	}
	if err := json.Unmarshal([]byte(answer[:at]), &got); err != nil {
		return "the answer is not JSON: " + err.Error()
	}
	if top, ok := got.(map[string]any); ok {
		for name := range top {
			if _, ok := want.(map[string]any)[name]; !ok {
				return "'" + name + "' is not documented"
			}
		}
	}
	return shape("", want, got)
}

// shape says where a value has another form than the documented one: a name is missing, or a type is another.
func shape(at string, want, got any) string {
	if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
		return fmt.Sprintf("%s is %T, documented is %T", at, got, want)
	}
	switch want := want.(type) {
	case map[string]any:
		for name, w := range want {
			g, ok := got.(map[string]any)[name]
			if !ok {
				return at + "." + name + " is missing"
			}
			if wrong := shape(at+"."+name, w, g); wrong != "" {
				return wrong
			}
		}
	case []any:
		list := got.([]any)
		if len(want) > 0 && !slices.ContainsFunc(list, func(g any) bool { return shape("", want[0], g) == "" }) {
			return fmt.Sprintf("%s has no entry of the documented form", at)
		}
	}
	return ""
}
