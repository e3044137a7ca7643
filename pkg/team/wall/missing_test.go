package wall

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/config"
	"liza/pkg/run/sandbox"
)

// What programs write in their settings, each in its own form.
func TestWhatThePersonsOwnSettingsNameAndARunDoesNotGetIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, file, text string
		want                []string // "what | next"; HOME is the person's home folder
	}{
		{"codex", ".codex/config.toml", `
model_provider = "azure"
[model_providers.azure]
base_url = "https://corp.openai.azure.com/openai/v1" # of the company
env_key = "FAKE_KEY"
# env_key = "COMMENTED_KEY"
[mcp_servers.docs]
command = "HOME/mcp/server"
args = ["--root", "/no/such/file"]
`, []string{
			"FAKE_KEY is set in your shell and named in ~/.codex/config.toml; runs do not get it | liza config agents.codex.sandbox.allow.env OTHER,FAKE_KEY",
			"corp.openai.azure.com:443 is named in ~/.codex/config.toml; runs do not reach it | liza config agents.codex.sandbox.allow.hosts corp.openai.azure.com:443",
			"HOME/mcp/server is started by ~/.codex/config.toml; runs do not see it | liza config agents.codex.sandbox.allow.read ~/mcp/server",
		}},
		{"claude", ".claude/settings.json", `{"apiKeyHelper": "~/bin/key.sh --fresh", "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000"},
"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "python3 HOME/guard.py"}, {"type": "command", "command": "sh $HOME/.claude/hooks/fine.sh"}]}]}}`, []string{
			"127.0.0.1:4000 is named in ~/.claude/settings.json; runs do not reach it | liza config agents.claude.sandbox.allow.hosts 127.0.0.1:4000",
			"HOME/guard.py is started by ~/.claude/settings.json; runs do not see it | liza config agents.claude.sandbox.allow.read ~/bin/key.sh,~/guard.py",
			"~/bin/key.sh is started by ~/.claude/settings.json; runs do not see it | liza config agents.claude.sandbox.allow.read ~/bin/key.sh,~/guard.py",
		}},
		{"claude", ".claude.json", `{"mcpServers": {"docs": {"command": "npx", "args": ["-y", "docs"], "env": {"TOKEN": "${FAKE_KEY}"}}}}`, []string{
			"FAKE_KEY is set in your shell and named in ~/.claude.json; runs do not get it | liza config agents.claude.sandbox.allow.env OTHER,FAKE_KEY",
			"npx, which ~/.claude.json starts, downloads packages; runs reach no registry | liza config agents.claude.sandbox.allow.registries true",
		}},
		{"pi", ".pi/agent/models.json", `{"providers": {"or": {"baseUrl": "https://openrouter.ai/api/v1", "apiKey": "FAKE_KEY"}}}`, []string{
			"FAKE_KEY is set in your shell and named in ~/.pi/agent/models.json; runs do not get it | liza config agents.pi.sandbox.allow.env OTHER,FAKE_KEY",
		}},
		{"opencode", ".config/opencode/opencode.json", `{"provider": {"x": {"options": {"baseURL": "https://llm.example/v1", "apiKey": "{env:FAKE_KEY}"}}}}`, []string{
			"FAKE_KEY is set in your shell and named in ~/.config/opencode/opencode.json; runs do not get it | liza config agents.opencode.sandbox.allow.env OTHER,FAKE_KEY",
			"llm.example:443 is named in ~/.config/opencode/opencode.json; runs do not reach it | liza config agents.opencode.sandbox.allow.hosts llm.example:443",
		}},
		{"cline", ".cline/data/settings/providers.json", `{"baseUrl": "http://Gateway.example:8080/v1", "apiKey": "sk-literal"}`, []string{
			"gateway.example:8080 is named in ~/.cline/data/settings/providers.json; runs do not reach it | liza config agents.cline.sandbox.allow.hosts gateway.example:8080",
		}},
		{"cn", ".continue/config.yaml", "models:\n  - {name: x, apiBase: \"https://llm.example/v1\", apiKey: \"${{ secrets.FAKE_KEY }}\"}\n", []string{
			"FAKE_KEY is set in your shell and named in ~/.continue/config.yaml; runs do not get it | liza config agents.cn.sandbox.allow.env OTHER,FAKE_KEY",
			"llm.example:443 is named in ~/.continue/config.yaml; runs do not reach it | liza config agents.cn.sandbox.allow.hosts llm.example:443",
		}},
		{"codex", ".codex/config.toml", `env_key = "OPENAI_API_KEY"` + "\n" + `base_url = "https://api.openai.com/v1"` + "\n" + `env_key = "NOT_SET"` + "\n", nil},
	} {
		r := contained(t, tt.program)
		home := r.Person.Home
		r.Person.Environ = append(slices.Clone(r.Person.Environ), "FAKE_KEY=k", "COMMENTED_KEY=k", "OPENAI_API_KEY=k", "PATH=/usr/bin")
		for name, text := range map[string]string{tt.file: tt.text, "mcp/server": "x", "guard.py": "x", "bin/key.sh": "x", ".claude/hooks/fine.sh": "x"} {
			path := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HOME/", home+"/")), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, m := range r.missing(sandbox.Closed, config.Allow{Env: []string{"OTHER"}}) {
			got = append(got, strings.ReplaceAll(m.What, home, "HOME")+" | "+m.Next)
		}
		slices.Sort(got)
		want := slices.Clone(tt.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s:\n got %s\nwant %s", tt.program, tt.file, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// A folder of PATH that a run does not see is told. Those in the home folder are shown.
func TestFoldersOfPathThatARunDoesNotSeeAreTold(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	home := r.Person.Home
	hidden, seen := filepath.Join(filepath.Dir(home), "hidden"), filepath.Join(filepath.Dir(home), "seen")
	for _, folder := range []string{hidden, seen, filepath.Join(home, ".own/bin")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.Settings.Allow.Read = append(r.Settings.Allow.Read, seen)
	r.Person.Environ = append(slices.Clone(r.Person.Environ), "PATH="+home+"/.own/bin:/usr/bin:"+hidden+":"+seen+":"+home+"/gone:bin:")
	found := r.missing(sandbox.Closed, config.Allow{})
	want := Missing{What: hidden + " is on your PATH; runs do not see it", Next: "liza config agents.claude.sandbox.allow.read " + hidden}
	if len(found) != 1 || found[0] != want {
		t.Errorf("got %+v, want %+v", found, want)
	}
}

// A script that stands for the program on PATH starts something that a run does not see.
func TestTheTargetOfAWrapperScriptIsTold(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	home := r.Person.Home
	for name, text := range map[string]string{"bin/claude": "#!/usr/bin/env bash\n# ~/not/this\nexport X=\"$HOME/flags\"\nexec \"$HOME/agents/claude-2/claude\" \"$@\"\n", "agents/claude-2/claude": "x"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range r.missing(sandbox.Closed, config.Allow{}) {
		if strings.Contains(m.What, "started") {
			got = append(got, m.What)
		}
	}
	if want := "~/agents/claude-2/claude is started by ~/bin/claude; runs do not see it"; strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
