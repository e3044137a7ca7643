package review_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/code/review"
)

// N-21: each form of a secret is found once, with file and line and without its value; a
// placeholder of the same form is not. Nobody who reads the diff is handed the value.
func TestSecretsInADiffAreFoundAndNeverShown(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("a7Bc9", n/5+1)[:n] }
	hex := strings.Repeat("0a1b2c3d", 8)
	for _, x := range []struct{ what, before, value, after, harmless string }{
		{"a private key", "", "-----BEGIN RSA " + "PRIVATE KEY-----", "", "-----BEGIN PUBLIC KEY-----"},
		{"a private key", "", "-----BEGIN " + "PRIVATE KEY-----", "", "-----BEGIN CERTIFICATE-----"},
		{"an AWS key id", "id = ", "AKIA" + "Q3EGR7YTLMN2PWXZ", "", "id = AKIAIOSFODNN7EXAMPLE"},
		{"a GitHub token", "use ", "gh" + "p_" + long(36), "", "use ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"a GitHub token", "use ", "github" + "_pat_" + long(40), "", "use github_pat_EXAMPLE_of_a_token_in_a_manual"},
		{"a GitLab token", "use ", "glp" + "at-" + long(20), "", "use glpat-xxxxxxxxxxxxxxxxxxxx"},
		{"a Slack token", "use ", "xox" + "b-" + long(24), "", "use xoxb-EXAMPLE-token-00"},
		{"a Slack webhook", "https://", "hooks.slack.com/" + "services/T00/B00/" + long(24), "", "https://hooks.slack.com/services/<id>"},
		{"a Google key", "use ", "AIz" + "a" + long(35), "", "use AIza<key>"},
		{"a Stripe key", "use ", "sk" + "_live_" + long(24), "", "use sk_live_..."},
		{"an OpenAI key", "use ", "sk-" + "proj-" + long(40), "", "use sk-proj-<key>"},
		{"an Anthropic key", "use ", "sk-" + "ant-api03-" + long(40), "", "use sk-ant-..."},
		{"an npm token", "use ", "npm" + "_" + long(36), "", "use npm_install"},
		{"a PyPI token", "use ", "pypi-" + "AgE" + long(60), "", "use pypi-AgE..."},
		{"a Hugging Face token", "use ", "hf" + "_" + strings.Repeat("aBcDe", 7)[:34], "", "use hf_hub"},
		{"a SendGrid key", "use ", "SG" + "." + long(22) + "." + long(43), "", "use SG.example"},
		{"a DigitalOcean token", "use ", "dop" + "_v1_" + hex, "", "use dop_v1_<token>"},
		{"a password in a URL", "postgres://ada:", "hunter2hunter2", "@db/x", "postgres://ada:${PASSWORD}@db/x"},
		{"a literal for password", "password = \"", "correct-horse", "\"", "password = \"changeme-now\""},
		{"a literal for db_passwd", "db_passwd: '", "correct-horse", "'", "db_passwd: '<your password>'"},
		{"a literal for client_secret", "\"client_secret\": \"", "correct-horse", "\",", "\"client_secret\": \"${SECRET}\","},
		{"a literal for authToken", "authToken := `", "correct-horse", "`", "authToken := `{{ .Token }}`"},
		{"a literal for API_KEY", "API_KEY=\"", "correct-horse", "\"", "API_KEY=\"xxxxxxxx\""},
	} {
		const severityAndPlace = "error security a.txt:2 holds "
		text := x.before + x.value + x.after
		got := said(look(t, submission(added("a.txt", "first\n"+text+"\n"))))
		if want := []string{severityAndPlace + x.what + " (the value is not shown)"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", x.what, got, want)
		}
		if got := said(look(t, submission(added("a.txt", "first\n"+x.harmless+"\n")))); len(got) > 0 {
			t.Errorf("%q: %q", x.harmless, got)
		}
		patch := "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n first\n-" + text + "\n+" + text + "\n"
		if redacted := review.Redact(patch); strings.Contains(redacted, x.value) || strings.Count(redacted, "[REDACTED:") != 2 || !strings.Contains(redacted, "\n+"+x.before+"[REDACTED:") {
			t.Errorf("%s in a diff: %q", x.what, redacted)
		}
		if patch := "+" + x.harmless + "\n"; review.Redact(patch) != patch {
			t.Errorf("%q becomes %q", patch, review.Redact(patch))
		}
	}
}

// N-21: values that are known, without quotes, in tests; and what only looks like one.
func TestWhereASecretStandsMatters(t *testing.T) {
	t.Parallel()
	known := submission(added("a.md", "so we use KNOWN-VALUE here\n"))
	known.Known = func(text string) (string, bool) { return "deploy", strings.Contains(text, "KNOWN-VALUE") }
	for name, x := range map[string]struct {
		s    *review.Submission
		want []string
	}{
		"a known value":          {known, []string{"error security a.md:1 holds the value of the secret deploy"}},
		"without quotes in .ini": {submission(added("a.ini", "[db]\npassword = correct-horse\n")), []string{"error security a.ini:2 holds a literal for password (the value is not shown)"}},
		"without quotes in YAML": {submission(added("a.yaml", "api_key: correct-horse\n")), []string{"error security a.yaml:1 holds a literal for api_key (the value is not shown)"}},
		"a reference in YAML":    {submission(added("a.yaml", "password: ${DB_PASSWORD}\n")), nil},
		"a variable in code":     {submission(added("a.txt", "password = readPassword(file)\ntoken := next()\n")), nil},
		"a short literal":        {submission(added("a.txt", "password = \"short\"\n")), nil},
		"in a test":              {submission(added("a_test.py", "password = \"correct-horse\"\nassert login(password)\n")), []string{"warning security a_test.py:1 holds a literal for password (the value is not shown)"}},
		"a token in a test":      {submission(added("a_test.py", "assert x == \"gh"+"p_"+strings.Repeat("a7Bc9", 8)[:36]+"\"\n")), []string{"error security a_test.py:1 holds a GitHub token (the value is not shown)"}},
		"removed":                {submission(change("M", "a.txt", []string{`password = "correct-horse"`}, nil)), nil},
	} {
		if got := said(look(t, x.s)); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

func TestFilesThatNobodyShouldCommit(t *testing.T) {
	t.Parallel()
	of := func(c review.Changed, change func(*review.Changed)) review.Changed { change(&c); return c }
	binary := func(c *review.Changed) { c.Binary = true }
	link := func(c *review.Changed) { c.Mode = "120000" }
	gitlink := func(c *review.Changed) { c.Mode = "160000" }
	for name, x := range map[string]struct {
		changes []review.Changed
		want    string
	}{
		"an .env":                    {[]review.Changed{added(".env", "A=1")}, "error security .env:0 is a file of the kind that holds secrets"},
		"an example of it":           {[]review.Changed{added(".env.example", "A=1")}, ""},
		"a key":                      {[]review.Changed{added("deploy/id_rsa", "x")}, "error security deploy/id_rsa:0 is a file of the kind that holds secrets"},
		"a public key":               {[]review.Changed{added("deploy/id_rsa.pub", "x")}, ""},
		"credentials":                {[]review.Changed{added("credentials-prod.json", "{}")}, "error security credentials-prod.json:0 is a file of the kind that holds secrets"},
		"a binary":                   {[]review.Changed{of(added("tool", ""), binary)}, "warning security tool:0 is a new binary file: nobody can review it"},
		"a changed picture":          {[]review.Changed{of(change("M", "a.png", nil, nil), binary)}, ""},
		"executable":                 {[]review.Changed{of(change("M", "a.txt", nil, nil), func(c *review.Changed) { c.OldMode, c.Mode = "100644", "100755" })}, "warning security a.txt:0 became executable"},
		"a link to outside":          {[]review.Changed{of(added("x/a.md", "../../etc/passwd"), link)}, "error security x/a.md:0 is a symbolic link that leads out of the repository"},
		"an absolute link":           {[]review.Changed{of(added("a.md", "/etc/passwd"), link)}, "error security a.md:0 is a symbolic link that leads out of the repository"},
		"a link inside":              {[]review.Changed{of(added("x/a.md", "../b.md"), link)}, ""},
		"a link through a name":      {[]review.Changed{of(added("x/y/a.md", "../../d/../b"), link)}, "error security x/y/a.md:0 is a symbolic link that leads out of the repository"},
		"a link into .git":           {[]review.Changed{of(added("a.md", ".git/config"), link)}, "error security a.md:0 is a symbolic link that leads out of the repository"},
		"a submodule":                {[]review.Changed{of(added("lib", ""), gitlink)}, "error security lib:0 is a new submodule, or a repository within the repository"},
		"a file made a submodule":    {[]review.Changed{of(change("M", "lib", nil, nil), func(c *review.Changed) { gitlink(c); c.OldMode = "100644" })}, "error security lib:0 is a new submodule, or a repository within the repository"},
		"a submodule moved on":       {[]review.Changed{of(change("M", "lib", nil, nil), gitlink)}, ""},
		"a new URL":                  {[]review.Changed{change("M", ".gitmodules", []string{"\turl = https://example.org/a"}, []string{"\turl = ext::sh -c evil"})}, "error security .gitmodules:1 gives a submodule a new URL or command"},
		"a new URL in one line":      {[]review.Changed{added(".gitmodules", "[submodule \"a\"] URL=ext::sh\n")}, "error security .gitmodules:1 gives a submodule a new URL or command"},
		"another branch":             {[]review.Changed{change("M", ".gitmodules", nil, []string{"\tbranch = main"})}, ""},
		"a hidden difference":        {[]review.Changed{added(".gitattributes", "# all\n*.go -diff\n")}, "error security .gitattributes:2 sets the attribute -diff: a diff, or a checkout, has something else than the commit then"},
		"a source as a binary":       {[]review.Changed{change("M", "a/.gitattributes", nil, []string{"*.c text binary"})}, "error security a/.gitattributes:1 sets the attribute binary: a diff, or a checkout, has something else than the commit then"},
		"another encoding":           {[]review.Changed{added(".gitattributes", "a.sh working-tree-encoding=UTF-7\n")}, "error security .gitattributes:1 sets the attribute working-tree-encoding: a diff, or a checkout, has something else than the commit then"},
		"a filter":                   {[]review.Changed{added(".gitattributes", "\"a b.bin\" filter=lfs\n")}, "error security .gitattributes:1 sets the attribute filter: a diff, or a checkout, has something else than the commit then"},
		"ident by a macro":           {[]review.Changed{added(".gitattributes", "[attr]mine ident\n")}, "error security .gitattributes:1 sets the attribute ident: a diff, or a checkout, has something else than the commit then"},
		"attributes of another name": {[]review.Changed{of(change("R", ".gitattributes", nil, nil), func(c *review.Changed) { c.OldPath = "notes.txt" })}, "error security .gitattributes:0 gives files attributes, and cannot be read as a change of lines"},
		"harmless attributes":        {[]review.Changed{added(".gitattributes", "#*.go -diff\n*.go text eol=lf diff=golang\n-diff text\n")}, ""},
		"an odd kind":                {[]review.Changed{of(added("pipe", ""), func(c *review.Changed) { c.Mode = "010644" })}, "error security pipe:0 has the mode 010644, which is neither a file nor a link"},
		"a lock file alone":          {[]review.Changed{change("M", "web/package-lock.json", nil, []string{"{}"})}, "warning security web/package-lock.json:0 changed without its manifest (package.json)"},
		"a lock file and manifest":   {[]review.Changed{change("M", "package-lock.json", nil, []string{"{}"}), change("M", "package.json", nil, []string{"{}"})}, ""},
		"a lock file of a workspace": {[]review.Changed{change("M", "Cargo.lock", nil, []string{"x"}), change("M", "a/Cargo.toml", nil, []string{"x"})}, ""},
		"a deleted key":              {[]review.Changed{change("D", "a.pem", []string{"x"}, nil)}, ""},
	} {
		want := []string{x.want}
		if x.want == "" {
			want = nil
		}
		if got := said(look(t, submission(x.changes...))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A line of a megabyte is looked at in a moment: the expressions have no backtracking.
func TestAVeryLongLineIsNoTrouble(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("password: sk-abc ", 1<<16)
	if got := look(t, submission(added(filepath.Join("dist", "a.min.css"), line)))[review.Security].Check.Status; got != review.Passed {
		t.Errorf("the check %s", got)
	}
}
