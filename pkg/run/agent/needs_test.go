package agent

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What of each measured program's home folder runs code, or widens rights, in a later session of
// the person's own: measured with the programs themselves.
var runsLater = map[string]string{
	"claude":   ".claude/settings.json .claude.json .claude/plugins .claude/skills .claude/commands .claude/agents .claude/output-styles .claude/workflows .claude/rules .claude/CLAUDE.md .claude/shell-snapshots .claude/daemon.json .claude/hooks",
	"codex":    ".codex/config.toml .codex/hooks.json .codex/rules .codex/skills .codex/agents .codex/AGENTS.md .codex/environments.toml .codex/.env .codex/shell_snapshots .codex/tmp",
	"gemini":   ".gemini/settings.json .gemini/extensions .gemini/policies .gemini/agents .gemini/trustedFolders.json .gemini/trusted_hooks.json .gemini/GEMINI.md .gemini/.env",
	"opencode": ".config/opencode/opencode.json .config/opencode/plugin .config/opencode/tool .config/opencode/agent .config/opencode/command .config/opencode/package.json .local/share/opencode/auth.json .local/share/opencode/snapshot",
	"qwen":     ".qwen/settings.json .qwen/extensions .qwen/extension-store .qwen/skills .qwen/agents .qwen/commands .qwen/memories .qwen/output-language.md .qwen/updates",
	"pi":       ".pi/agent/extensions .pi/agent/hooks .pi/agent/tools .pi/agent/bin .pi/agent/prompts .pi/agent/SYSTEM.md .pi/agent/settings.json .pi/agent/models.json",
	"cline":    ".cline/hooks .cline/plugins .cline/rules .cline/workflows .cline/cron .cline/data/db/cron.db .cline/data/db/connectors.db .cline/data/settings/cline_mcp_settings.json .cline/data/locks/hub",
	"cn":       ".continue/config.yaml .continue/permissions.yaml .continue/rules .continue/skills .continue/.env .claude/settings.json",
}

func TestNoProgramCanWriteWhatRunsInALaterSessionOfThePerson(t *testing.T) {
	t.Parallel()
	c := builtin()
	overlap := func(a, b string) bool {
		return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
	}
	for name, e := range c.Programs {
		var late []string
		for _, list := range runsLater { // of all programs: one reads the settings of another
			late = append(late, strings.Fields(list)...)
		}
		n := e.Sandbox.and(c.Common.Sandbox)
		for _, p := range n.Login {
			for _, no := range late {
				if overlap(p, no) {
					t.Errorf("%s may write %s, so %s", name, p, no)
				}
			}
		}
		if (e.Status == "measured") != n.Measured {
			t.Errorf("%s is %s, and measured in a sandbox: %v", name, e.Status, n.Measured)
		}
		if runsLater[strings.TrimSuffix(name, "-acp")] == "" && len(n.Login) > 0 {
			t.Errorf("%s has not been measured in a sandbox and may write %v", name, n.Login)
		}
		resumes := len(e.Resume)+len(e.ResumeCommand) > 0
		if len(n.Hosts) == 0 || len(e.Sandbox.Env) == 0 || resumes && len(n.Keep)+len(n.Copy) == 0 {
			t.Errorf("%s needs hosts, variables and a place for the conversations that it resumes: %+v", name, e.Sandbox)
		}
	}
}

// With ANTHROPIC_API_KEY in the environment cn writes that key into config.yaml before each run without a terminal, and
// in a terminal it asks for one unless its first questions have been answered.
func TestContinueHasACopyOfItsConfigurationAndItsMark(t *testing.T) {
	t.Parallel()
	a := catalogued(t, "cn").Info().Needs.In("/home/ada", "/inside", []string{"ANTHROPIC_API_KEY=k"})
	if !slices.Contains(a.HomeCopy, ".continue/config.yaml") || slices.Contains(a.HomeRead, ".continue/config.yaml") || !slices.Contains(a.HomeRead, ".continue/.onboarding_complete") {
		t.Errorf("copies %v, reads %v", a.HomeCopy, a.HomeRead)
	}
}

// What a program needs holds for people who have moved its folders, and who use another server.
func TestNeedsFollowTheVariablesOfThePerson(t *testing.T) {
	t.Parallel()
	n := Needs{
		Read: []string{".x/settings", ".config/x"}, Login: []string{".x/auth"}, Keep: []string{".x/sessions", ".local/share/x"}, Copy: []string{".x.json"},
		Hosts: []string{"api.example.com"}, Quiet: []string{"stats.example.com"}, Env: []string{"X_*", "LANG"},
		Folders: map[string]string{"X_HOME": ".x", "XDG_CONFIG_HOME": ".config"}, Files: []string{"CA", "KEYS"}, Servers: []string{"X_URL", "PLAIN_URL", "NO_URL"},
	}
	got := n.In("/home/ada", "/run/home", []string{"HOME=/home/ada", "SECRET=1", "LANG=C", "X_MODEL=big", "X_EMPTY=", "X_HOME=/home/ada/work/x", "XDG_CONFIG_HOME=/etc/ada",
		"CA=/opt/ca.pem", "KEYS=/home/ada/keys.json", "X_URL=https://Gateway.example.com/v1", "PLAIN_URL=http://127.0.0.1:11434", "NO_URL=nothing"})
	want := Access{
		Read: []string{"/etc/ada/x", "/opt/ca.pem"}, HomeRead: []string{"work/x/settings", "keys.json"},
		HomeLogin: []string{"work/x/auth"}, HomeKeep: []string{"work/x/sessions", ".local/share/x"}, HomeCopy: []string{".x.json"},
		Hosts: []string{"api.example.com", "gateway.example.com:443", "127.0.0.1:11434"}, Quiet: []string{"stats.example.com"},
		Env: []string{"CA=/opt/ca.pem", "KEYS=/run/home/keys.json", "LANG=C", "NO_URL=nothing", "PLAIN_URL=http://127.0.0.1:11434",
			"XDG_CONFIG_HOME=/etc/ada", "X_HOME=/run/home/work/x", "X_MODEL=big", "X_URL=https://Gateway.example.com/v1"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	plain := n.In("/home/ada", "/run/home", nil)
	if !reflect.DeepEqual(plain.HomeRead, n.Read) || !reflect.DeepEqual(plain.HomeKeep, n.Keep) || plain.Env != nil || plain.Read != nil {
		t.Errorf("without variables: %+v", plain)
	}
	n.Copy = append(n.Copy, ".x")
	for _, odd := range []string{"X_HOME=relative/x", "X_HOME=~/x", "X_HOME=/home/ada", "X_HOME=/home", "X_HOME=/"} {
		a := n.In("/home/ada", "/run/home", []string{odd})
		for _, p := range slices.Concat(a.Read, a.Write, a.Keep) {
			if strings.HasPrefix("/home/ada/", strings.TrimSuffix(p, "/")+"/") {
				t.Errorf("%s opens %s", odd, p)
			}
		}
		for _, p := range slices.Concat(a.HomeRead, a.HomeKeep, a.HomeLogin) {
			if path.IsAbs(p) || strings.HasPrefix(p, "..") {
				t.Errorf("%s leads to %s", odd, p)
			}
		}
	}
}

// A key that a program has no use for is a key that its commands cannot read.
func TestAProgramGetsTheKeysOfItsOwnProviderOnly(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "AWS_SECRET_ACCESS_KEY=s", "SSH_AUTH_SOCK=/s", "DATABASE_URL=d", "LIZA_AGENT_TOKEN=t"}
	for name, want := range map[string][]string{
		"claude": {"ANTHROPIC_API_KEY=a", "PATH=/bin"}, "codex": {"OPENAI_API_KEY=o", "PATH=/bin"}, "gemini": {"GEMINI_API_KEY=g", "PATH=/bin"},
		"pi": {"ANTHROPIC_API_KEY=a", "GEMINI_API_KEY=g", "OPENAI_API_KEY=o", "PATH=/bin"},
	} {
		a, err := Lookup(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Info().Needs.In("/home/ada", "/run/home", environ).Env; !slices.Equal(got, want) {
			t.Errorf("%s gets %v, want %v", name, got, want)
		}
	}
}

func TestAProgramsOwnSandboxIsOffWhereLizaContainsIt(t *testing.T) {
	t.Parallel()
	inside := Spec{Contain: func(string, []string, []string) (Contained, error) { return Contained{}, nil }}
	for name, want := range map[string]struct{ args, env string }{
		"claude": {args: `--settings {"sandbox":{"enabled":false}}`},
		"codex":  {args: "--dangerously-bypass-approvals-and-sandbox"},
		"gemini": {env: "GEMINI_SANDBOX=false"},
		"qwen":   {env: "QWEN_SANDBOX=false"},
	} {
		a, err := Lookup(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := a.Command(inside)
		if err != nil || !strings.Contains(strings.Join(cmd.Argv, " "), want.args) || want.env != "" && !slices.Contains(cmd.Env, want.env) {
			t.Errorf("%s inside: %v %v %v", name, cmd.Argv, cmd.Env, err)
		}
		outside, err := a.Command(Spec{})
		if err != nil || strings.Contains(strings.Join(outside.Argv, " "), "--settings") || slices.Contains(outside.Env, want.env) {
			t.Errorf("%s outside: %v %v %v", name, outside.Argv, outside.Env, err)
		}
	}
}

func TestNeedsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]Needs{
		`sandbox.read: "/etc/x"`:     {Read: []string{"/etc/x"}},
		`sandbox.login: "../x"`:      {Login: []string{"../x"}},
		`sandbox.copy: "a/"`:         {Copy: []string{"a/"}},
		`sandbox.keep: "."`:          {Keep: []string{"."}},
		`sandbox.login: ""`:          {Login: []string{""}},
		`sandbox.hosts: "*"`:         {Hosts: []string{"*"}},
		`sandbox.quiet: "a b"`:       {Quiet: []string{"a b"}},
		`sandbox.env: "*"`:           {Env: []string{"*"}},
		`sandbox.set: "A*"`:          {Set: map[string]string{"A*": ""}},
		`sandbox.servers: "X_*"`:     {Servers: []string{"X_*"}},
		`sandbox.folders: "/x"`:      {Folders: map[string]string{"A": "/x"}},
		`sandbox.folders: "A=B" is `: {Folders: map[string]string{"A=B": "x"}},
	} {
		if errs := n.problems(); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%+v: %v, want %s…", n, errs, want)
		}
	}
	for name, e := range builtin().Programs {
		for variable := range maps.Keys(e.Sandbox.Folders) {
			if !e.Sandbox.Passes(variable) {
				t.Errorf("%s does not get %s", name, variable)
			}
		}
	}
}

// P-192
func TestARunHasTheSettingsOfItsAccountOnly(t *testing.T) {
	t.Parallel()
	options := Options{Custom: map[string]Entry{"claude": {Accounts: map[string]string{"work": "/home/ada/acc/work", "own": "/srv/own"}}, "mine": {Command: []string{"mine"}, Prompt: "stdin", Output: "text", Accounts: map[string]string{"a": "/srv/a"}}}}
	access := func(name string) Access {
		t.Helper()
		a, err := Lookup(name, options)
		if err != nil {
			t.Fatal(err)
		}
		if a.Info().Name != name {
			t.Errorf("%s is called %s", name, a.Info().Name)
		}
		return a.Info().Needs.In("/home/ada", "/private/home", []string{"CLAUDE_CONFIG_DIR=/home/ada/.claude", "HOME=/home/ada"})
	}
	for name, want := range map[string]struct{ login, env string }{
		"claude@work": {"acc/work/.credentials.json", "CLAUDE_CONFIG_DIR=/private/home/acc/work"},
		"claude@own":  {"/srv/own/.credentials.json", "CLAUDE_CONFIG_DIR=/srv/own"},
		"claude":      {".claude/.credentials.json", "CLAUDE_CONFIG_DIR=/private/home/.claude"},
		"mine@a":      {"/srv/a", "LIZA_ACCOUNT_HOME=/srv/a"},
	} {
		a := access(name)
		files := slices.Concat(a.Read, a.Write, a.Keep, a.HomeRead, a.HomeLogin, a.HomeKeep, a.HomeCopy)
		if !slices.Contains(files, want.login) || !slices.Contains(a.Env, want.env) {
			t.Errorf("%s: files %v, environment %v, want %s and %s", name, files, a.Env, want.login, want.env)
		}
		for _, f := range files {
			if _, account, ofOne := strings.Cut(name, "@"); ofOne && (strings.Contains(f, ".claude") && !strings.Contains(f, account+"/") || strings.Contains(f, "acc/") && account != "work" || strings.Contains(f, "/srv/own") && account != "own") {
				t.Errorf("%s may use %s", name, f)
			}
		}
	}
	for _, name := range []string{"claude@nobody", "mine@", "codex@work"} {
		if _, err := Lookup(name, options); err == nil || !strings.Contains(err.Error(), "has no account") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
