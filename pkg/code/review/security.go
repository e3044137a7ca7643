package review

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// A token is the form of the secrets of a well-known service.
type token struct {
	name  string
	marks []string       // each match of form has one of them; a search for them first is a hundred times as fast
	form  *regexp.Regexp // the first group, if there is one, is the value
}

// mayBeIn reports whether line has one of the token's marks.
func (t token) mayBeIn(line string) bool {
	return slices.ContainsFunc(t.marks, func(mark string) bool { return strings.Contains(line, mark) })
}

// tokens is the table of secrets. Each form is that of one service, so it needs no guess.
// The expressions are compiled when the first diff is looked at.
var tokens = sync.OnceValue(func() []token {
	var table []token
	for _, t := range [][3]string{
		{"a private key", "-----BEGIN", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`},
		{"an AWS key id", "AKIA ASIA ABIA ACCA", `\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b`},
		{"a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", `\b(gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b`},
		{"a GitLab token", "glpat- gldt- glrt- glcbt- glptt- glsoat-", `\b((?:glpat|gldt|glrt|glcbt|glptt|glsoat)-[A-Za-z0-9_\-]{20,64})`},
		{"a Slack token", "xox xapp-", `\b(xox[abeoprs]-[A-Za-z0-9\-]{10,250}|xapp-[0-9]-[A-Za-z0-9\-]{10,250})`},
		{"a Slack webhook", "hooks.slack.com/", `(hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_]{20,})`},
		{"a Google key", "AIza ya29. GOCSPX-", `\b(AIza[A-Za-z0-9_\-]{35}|ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{28})`},
		{"a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", `\b((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,99}|whsec_[A-Za-z0-9]{24,})`},
		{"an Anthropic key", "sk-ant-", `\b(sk-ant-[A-Za-z0-9_\-]{20,})`},
		{"an OpenAI key", "sk-", `\b(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{20,}|sk-[A-Za-z0-9]{32,})`},
		{"an npm token", "npm_", `\b(npm_[A-Za-z0-9]{36})\b`},
		{"a PyPI token", "pypi-AgE", `\b(pypi-AgE[A-Za-z0-9_\-]{50,})`},
		{"a Hugging Face token", "hf_", `\b(hf_[A-Za-z]{34})\b`},
		{"a SendGrid key", "SG.", `\b(SG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43})`},
		{"a DigitalOcean token", "_v1_", `\b(do[opr]_v1_[a-f0-9]{64})\b`},
		{"a password in a URL", "://", `\b[a-z][a-z0-9+.\-]*://[^\s:/@'"]+:([^\s:/@'"{}$<]{8,})@`},
	} {
		table = append(table, token{t[0], strings.Fields(t[1]), regexp.MustCompile(t[2])})
	}
	return table
})

// assignment is a literal of eight characters or more for something named like a secret.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)([a-z0-9_\-.]*(?:password|passwd|secret|token|api_?key)[a-z0-9_\-]*)['"]?\s*(?::?=|:|=>)\s*(?:"([^"]{8,})"|'([^']{8,})'|` + "`([^`]{8,})`" + `)`)
})

// unquoted is the same in files where values need no quotes: KEY=value, key: value.
var unquoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\s*(?:export\s+|-\s+)?([a-z0-9_\-.]*(?:password|passwd|secret|token|api_?key)[a-z0-9_\-]*)\s*[:=]\s*([^\s'"#]{8,})\s*$`)
})

// placeholder marks values that stand for a secret and are none.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)changeme|change_me|example|xxx|placeholder|dummy|redacted|your[_\-]|\$\{|\$\(|\{\{|^\$|<|%\(|^\*+$|^\.+$`)
})

// leak is a place of a line that holds a secret.
type leak struct {
	name       string
	start, end int  // place of the value, which is never returned
	guess      bool // found by the name of its variable
}

// leaks finds the secrets of one line of that file.
func leaks(file, line string) []leak {
	var found []leak
	for _, t := range tokens() {
		if !t.mayBeIn(line) {
			continue
		}
		for _, m := range t.form.FindAllStringSubmatchIndex(line, -1) {
			start, end := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				start, end = m[2], m[3]
			}
			if t.name != "a password in a URL" && !exampleToken(line[start:end]) || t.name == "a password in a URL" && !placeholder().MatchString(line[start:end]) {
				found = append(found, leak{name: t.name, start: start, end: end})
			}
		}
	}
	if len(found) > 0 || !namesSecret(line) {
		return found
	}
	forms := []*regexp.Regexp{assignment()}
	if slices.Contains([]string{".env", ".ini", ".cfg", ".conf", ".properties", ".yaml", ".yml", ".toml"}, path.Ext(file)) || strings.HasPrefix(path.Base(file), ".env") {
		forms = append(forms, unquoted())
	}
	for _, form := range forms {
		for _, m := range form.FindAllStringSubmatchIndex(line, -1) {
			for i := 4; i+1 < len(m); i += 2 {
				if m[i] >= 0 && !placeholder().MatchString(line[m[i]:m[i+1]]) {
					found = append(found, leak{"a literal for " + line[m[2]:m[3]], m[i], m[i+1], true})
				}
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// namesSecret reports whether line has one of the words that assignment and unquoted look for.
func namesSecret(line string) bool {
	lower := strings.ToLower(line)
	return slices.ContainsFunc([]string{"passw", "secret", "token", "api"}, func(word string) bool { return strings.Contains(lower, word) })
}

// exampleToken reports whether value is a token of a manual, such as AKIAIOSFODNN7EXAMPLE.
func exampleToken(value string) bool {
	upper := strings.ToUpper(value)
	return strings.Contains(upper, "EXAMPLE") || strings.Contains(upper, "XXXX")
}

// Redact replaces the secrets of a patch, so that its readers do not see them.
func Redact(patch string) string {
	var b strings.Builder
	file := ""
	for line := range strings.Lines(patch) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = strings.TrimRight(name, "\t\n")
		}
		text, end := strings.CutSuffix(line, "\n")
		at := 0
		for _, l := range sorted(leaks(file, afterSign(text)), len(text)-len(afterSign(text))) {
			if l.start < at {
				continue
			}
			b.WriteString(text[at:l.start] + "[REDACTED:" + l.name + "]")
			at = l.end
		}
		b.WriteString(text[at:])
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// afterSign returns a line of a patch without its sign.
func afterSign(line string) string {
	if line != "" && strings.ContainsRune("+- ", rune(line[0])) {
		return line[1:]
	}
	return line
}

func sorted(found []leak, shift int) []leak {
	slices.SortFunc(found, func(a, b leak) int { return a.start - b.start })
	for i := range found {
		found[i].start += shift
		found[i].end += shift
	}
	return found
}

// security: no secret, and nothing that could hide something. A finding never shows the
// value.
func (s *Submission) security() Result {
	var r Result
	add := func(severity, file string, line int, message, fix string) {
		r.Findings = append(r.Findings, &blackboard.Finding{Severity: severity, File: file, Line: line, Message: message, Fix: fix})
	}
	severity := s.severity(Security)
	mild := atMost(severity, Warning)
	for _, c := range s.Changes {
		if c.Status == "D" {
			continue
		}
		s.secretsIn(c, add)
		switch {
		case c.Status == "A" && keyFile(c.Path):
			add(severity, c.Path, 0, "is a file of the kind that holds secrets", "take it out of the history of the branch and ignore it")
		case c.Unread:
			add(mild, c.Path, 0, fmt.Sprintf("was not looked at, or not all of it: a file of more than %d MB, or one after the first %d MB of the change", git.MostFile>>20, git.MostDiff>>20), "commit less at once, and nothing that a program makes; what has to be there has to be looked at by a person")
		case c.Status == "A" && c.Binary:
			add(mild, c.Path, 0, "is a new binary file: nobody can review it", "")
		}
		if c.OldMode == "100644" && c.Mode == "100755" {
			add(mild, c.Path, 0, "became executable", "")
		}
		s.kindsIn(c, add)
		if missing := s.withoutManifest(c.Path); missing != "" {
			add(mild, c.Path, 0, "changed without "+missing, "change dependencies with the package manager")
		}
	}
	return r
}

// kindsIn reports entries that are neither files nor links within the tree. A checkout or a clone with submodules would
// follow them: so these are errors, whatever the severity of the check.
func (s *Submission) kindsIn(c Changed, add func(severity, file string, line int, message, fix string)) {
	switch {
	case c.Mode == modeLink && leadsOut(c):
		add(Error, c.Path, 0, "is a symbolic link that leads out of the repository", "link to a file of the repository, with a path that has no .. after a name")
	case c.Mode == git.ModeGitlink && c.OldPath == "" && c.Status == "A", c.Mode == git.ModeGitlink && c.OldMode != "" && c.OldMode != git.ModeGitlink:
		add(Error, c.Path, 0, "is a new submodule, or a repository within the repository", "take it out; a person adds submodules")
	case !slices.Contains([]string{"100644", "100755", modeLink, git.ModeGitlink, ""}, c.Mode):
		add(Error, c.Path, 0, "has the mode "+c.Mode+", which is neither a file nor a link", "")
	}
	if strings.EqualFold(path.Base(c.Path), ".gitattributes") {
		attributesIn(c, add)
	}
	if path.Base(c.Path) != ".gitmodules" {
		return
	}
	for _, l := range c.added() {
		if url := moduleURL().FindString(l.Text); url != "" && !slices.ContainsFunc(c.removed(), func(r Line) bool { return strings.TrimSpace(r.Text) == strings.TrimSpace(l.Text) }) {
			add(Error, c.Path, l.N, "gives a submodule a new URL or command", "a person decides where code comes from")
		}
	}
}

// attributesIn reports attributes by which a diff does not show what is committed, or a checkout has something else than the commit: what is
// reviewed is not what is built then. So these are errors, whatever the severity of the check.
func attributesIn(c Changed, add func(severity, file string, line int, message, fix string)) {
	const fix = "take it out; a person decides which files a diff does not show and a checkout changes"
	if c.Binary || c.Unread || c.OldPath != "" && !strings.EqualFold(path.Base(c.OldPath), ".gitattributes") {
		add(Error, c.Path, 0, "gives files attributes, and cannot be read as a change of lines", fix)
		return
	}
	for _, l := range c.added() {
		if name := hiding(l.Text); name != "" {
			add(Error, c.Path, l.N, "sets the attribute "+name+": a diff, or a checkout, has something else than the commit then", fix)
		}
	}
}

// hiding is the first attribute of a line that hides or changes content; "" for none.
func hiding(line string) string {
	line = strings.TrimLeft(line, " \t\r")
	if strings.HasPrefix(line, "#") {
		return ""
	}
	if quoted, is := strings.CutPrefix(line, `"`); is { // a pattern with blanks
		if end := endOfQuote.FindStringIndex(quoted); end != nil {
			line = "x" + quoted[end[1]:]
		}
	}
	words := strings.Fields(line)
	for _, word := range words[min(1, len(words)):] {
		if name, _, _ := strings.Cut(word, "="); slices.Contains([]string{"-diff", "binary", "working-tree-encoding", "filter", "ident"}, name) {
			return name
		}
	}
	return ""
}

var endOfQuote = regexp.MustCompile(`^(?:[^"\\]|\\.)*"`)

// moduleURL finds the address of a submodule, or the command that makes it.
var moduleURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(^|\])\s*(url|update)\s*(=|$)`) })

// secretsIn reports at most one finding for a line.
func (s *Submission) secretsIn(c Changed, add func(severity, file string, line int, message, fix string)) {
	const fix = "take it out of the history of the branch, and make a new one"
	for _, l := range c.added() {
		if s.Known != nil {
			if name, is := s.Known(l.Text); is {
				add(s.severity(Security), c.Path, l.N, "holds the value of the secret "+name, fix)
				continue
			}
		}
		if found := leaks(c.Path, l.Text); len(found) > 0 {
			severity := s.severity(Security)
			if found[0].guess && s.kind(c.Path) == Test {
				severity = atMost(severity, Warning)
			}
			add(severity, c.Path, l.N, "holds "+found[0].name+" (the value is not shown)", fix)
		}
	}
}

const modeLink = "120000"

// keyFile reports whether a file is by its name one that holds secrets.
func keyFile(file string) bool {
	base := path.Base(file)
	if strings.HasSuffix(base, ".example") || strings.HasSuffix(base, ".sample") || strings.HasSuffix(base, ".pub") {
		return false
	}
	return slices.ContainsFunc([]string{".env*", "*.pem", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "credentials*.json"}, func(glob string) bool {
		ok, _ := path.Match(glob, base)
		return ok
	})
}

// leadsOut reports of a symbolic link, whose text is its target, whether it may leave the tree. A .. behind a name cannot
// be followed by looking at the text: the name may be a link itself.
func leadsOut(c Changed) bool {
	for _, l := range c.added() {
		if path.IsAbs(l.Text) || !strings.HasPrefix(path.Join("/x", path.Dir(c.Path), l.Text)+"/", "/x/") {
			return true
		}
		named := false
		for part := range strings.SplitSeq(l.Text, "/") {
			if part == ".." && named || strings.EqualFold(part, ".git") {
				return true
			}
			named = named || part != ".." && part != "." && part != ""
		}
	}
	return false
}

// locks are lock files, and the manifests that they are made from.
var locks = map[string][]string{
	"go.sum": {"go.mod"}, "package-lock.json": {"package.json"}, "npm-shrinkwrap.json": {"package.json"}, "yarn.lock": {"package.json"},
	"pnpm-lock.yaml": {"package.json"}, "bun.lock": {"package.json"}, "bun.lockb": {"package.json"}, "Cargo.lock": {"Cargo.toml"},
	"poetry.lock": {"pyproject.toml"}, "uv.lock": {"pyproject.toml"}, "pdm.lock": {"pyproject.toml"}, "Pipfile.lock": {"Pipfile"},
	"Gemfile.lock": {"Gemfile"}, "composer.lock": {"composer.json"}, "packages.lock.json": {"*.csproj"}, "mix.lock": {"mix.exs"},
	"pubspec.lock": {"pubspec.yaml"}, "gradle.lockfile": {"build.gradle", "build.gradle.kts"}, "Package.resolved": {"Package.swift"},
}

// withoutManifest names the manifest that should have changed with a lock file, anywhere
// in the repository: in a workspace it is elsewhere.
func (s *Submission) withoutManifest(file string) string {
	manifests := locks[path.Base(file)]
	if len(manifests) == 0 {
		return ""
	}
	for _, c := range s.Changes {
		for _, m := range manifests {
			if ok, _ := path.Match(m, path.Base(c.Path)); ok {
				return ""
			}
		}
	}
	return fmt.Sprintf("its manifest (%s)", strings.Join(manifests, " or "))
}

// textual reports whether the lines of a change are those of a file.
func (c Changed) textual() bool { return c.Mode != git.ModeGitlink && c.Mode != modeLink && !c.Binary }
