package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdNowhere looks for values in all that Liza has written: .liza but for .liza/secrets, its part of
// the git folder, and the messages of all commits.
func cmdNowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: nowhere VALUE…")
	}
	texts := writtenBy(ts)
	if len(texts) < 10 {
		ts.Fatalf("there are only %d files: nothing was looked at", len(texts))
	}
	for _, value := range args {
		for form, shown := range shownForms(value) {
			for path, text := range texts {
				if i := strings.Index(text, shown); i >= 0 {
					ts.Logf("%s holds the %s form of %q: …%s…", path, form, value, text[max(0, i-60):min(len(text), i+len(shown)+20)])
					ts.Fatalf("%s leaks", path)
				}
			}
		}
	}
}

// shownForms are the ways in which a value may be printed. They are made here again, apart from
// those that are masked.
func shownForms(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	out := map[string]string{"plain": value, "URL": url.QueryEscape(value), "path": url.PathEscape(value), "JSON": string(quoted[1 : len(quoted)-1]), "hex": hex.EncodeToString([]byte(value))}
	for name, text := range map[string]string{"0": value, "1": ">" + value, "2": ">>" + value} {
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		out["base64 "+name] = strings.TrimRight(encoded[4:], "=")[:len(value)-2]
	}
	return out
}

func writtenBy(ts *testscript.TestScript) map[string]string {
	texts := map[string]string{}
	for _, root := range []string{".liza", filepath.Join(".git", "liza")} {
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && path == ts.MkAbs(".liza/secrets") {
				return fs.SkipDir
			}
			if !e.Type().IsRegular() {
				return nil
			}
			data, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(path, ".gz") {
				data = unpacked(data)
			}
			texts[path] = string(data)
			return err
		}))
	}
	ts.Check(ts.Exec("git", "log", "--all", "--format=%B"))
	texts["messages of commits"] = ts.ReadFile("stdout")
	return texts
}

func unpacked(data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return data
	}
	return text
}
