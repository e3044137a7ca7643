package role

import (
	"strings"
	"testing"
	"time"
)

// N-40: the largest template that is accepted, one that makes a megabyte and more, and data of a
// megabyte are judged and rendered within a moment; a larger template is refused.
func TestTheLargestTemplateIsJudgedQuicklyAndALargerOneRefused(t *testing.T) {
	t.Parallel()
	const size = maxTemplate
	big := samples(Coder, true)
	big["Description"] = strings.Repeat("{{.Nothing}} ", (1<<20)/13)
	if _, err := compile("own", strings.Repeat("x", 1<<20)); err == nil || !strings.Contains(err.Error(), "has 1048576 bytes; 65536 are allowed") {
		t.Errorf("a template of a megabyte: %v", err)
	}
	for name, text := range map[string]string{
		"text":              strings.Repeat("x", size),
		"fields":            strings.Repeat("{{.Title}}", size/10),
		"nothing but open":  strings.Repeat("{{", size/2),
		"conditions":        strings.Repeat("{{if .Title}}", size/13),
		"deep conditions":   strings.Repeat("{{if .Title}}", size/20) + strings.Repeat("{{end}}", size/20),
		"brackets":          "{{" + strings.Repeat("(", size) + "}}",
		"a chain of pipes":  "{{.Title" + strings.Repeat("|lower", size/6) + "}}",
		"loops in loops":    strings.Repeat("{{range .AcceptanceCriteria}}", 200) + "x" + strings.Repeat("{{end}}", 200),
		"parts that call":   `{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}`,
		"text that doubles": `{{define "a"}}x{{template "b" .}}{{template "b" .}}{{end}}{{define "b"}}{{template "c" .}}{{template "c" .}}{{end}}{{define "c"}}{{range .AcceptanceCriteria}}{{printf "%65000s" .}}{{end}}{{end}}{{template "a" .}}{{template "a" .}}`,
		"a wide number":     `{{printf "%1000000000s" .Title}}`,
		"the description":   "{{.Description}}",
	} {
		began := time.Now()
		c, err := compile(name, text)
		if err == nil {
			_ = c.uses()
			out, failed := c.render(big, maxRender)
			if failed == nil && len(out) > maxRender {
				t.Errorf("%s: %d bytes", name, len(out))
			}
			if name == "the description" && (failed != nil || out != big["Description"]) {
				t.Errorf("data was taken for a template: %v", failed)
			}
		}
		if took := time.Since(began); took > 10*time.Second { // 100 ms on a machine that does nothing else, and without the race detector
			t.Errorf("%s: took %s", name, took)
		} else {
			t.Logf("%-18s %s", name, took.Round(time.Millisecond))
		}
	}
}

// N-40: no template panics or hangs, whatever the data; what it gives stays within its limit.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"{{.Title}}", "{{range .AcceptanceCriteria}}{{.}}{{end}}", `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, "{{index .DependsOn 99}}", `{{printf "%9999999s" .Title}}`,
		"{{indent 99 .Description}}", "{{trunc -1 .Title}}", "{{len .Title | json}}", "{{with $x := .Title}}{{$x}}{{end}}", "{{break}}", "{{slice .Title 9}}", "{{call .Title}}"} {
		f.Add(seed, "a text")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := compile("fuzz", text)
		if err != nil {
			return
		}
		_ = c.uses()
		data := samples(Coder, true)
		data["Title"], data["Description"] = value, value
		if out, err := c.render(data, 10000); err == nil && len(out) > 10000 {
			t.Errorf("%q gives %d bytes", text, len(out))
		}
	})
}
