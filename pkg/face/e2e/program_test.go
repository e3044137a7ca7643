//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// key is the key of the provider. It opens nothing, and must not be found in any file of Liza's.
const key = "sk-dummy-0123456789abcdefghijABCDEFGHIJ"

// otherKey is a key that the person has for another provider.
const otherKey = "sk-other-9876543210zyxwvutsrqpZYXWVUTSRQP"

// otherKeys are those of a person who uses several programs.
func otherKeys() (env []string) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"} {
		env = append(env, name+"="+otherKey)
	}
	return env
}

// A program is how one agent program is sent to the scripted server: the environment and the
// files of a person who uses it.
type program struct {
	name   string
	model  string                                   // for models.default
	env    func(url, home string) []string          // NAME=value
	files  func(url, home string) map[string]string // below the home folder
	setup  func(url string) []string                // once, before the first run
	silent string                                   // failures of which it says nothing while it waits
	other  map[string]string                        // failures that it tells as another outcome
	config string                                   // below agents.NAME: of .liza/config.yaml

	// apart: the key or the URL is where the catalogue cannot know of it (in a variable of the person's own
	// choice, in a file), so that the person allows them in sandbox.allow.
	apart bool

	// forgets: it does not always find a conversation that it has had.
	forgets bool

	// tools are files like files, by which a person tells the program of Liza's MCP server; nil
	// where Liza itself does it. noTools says why that is not possible.
	tools   func(url string) map[string]string
	noTools string
}

var programs = slices.Concat(plainPrograms, byACP())

// byACP are the programs that speak the Agent Client Protocol, with the settings that they have without it. Liza tells them of its tools.
func byACP() (all []program) {
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "qwen"} {
		p := plainPrograms[slices.IndexFunc(plainPrograms, func(p program) bool { return p.name == name })]
		p.name, p.tools, p.config = name+"-acp", nil, ""
		p.forgets = name == "gemini"
		switch p.silent = ""; name {
		case "codex":
			p.silent = "429"
		case "gemini": // its code for that is 500
			p.other = map[string]string{"malformed": "overloaded"}
		case "qwen", "opencode":
			p.silent = "429 529 quota reset"
		}
		all = append(all, p)
	}
	return all
}

var plainPrograms = []program{
	{
		name: "claude",
		env: func(url, home string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + key, "CLAUDE_CONFIG_DIR=" + home + "/.claude"}
		},
		files: func(url, home string) map[string]string {
			return map[string]string{".claude/settings.json": `{"includeCoAuthoredBy": false}`, ".claude/.claude.json": `{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["` + key[len(key)-20:] + `"]}}`}
		},
	},
	{
		name: "codex", apart: true, silent: "429",
		env: func(url, home string) []string {
			return []string{"CODEX_HOME=" + home + "/.codex", "FAKE_API_KEY=" + key}
		},
		files: func(url, home string) map[string]string {
			return map[string]string{".codex/config.toml": codexSettings(url)}
		},
		tools: func(url string) map[string]string {
			return map[string]string{".codex/config.toml": codexSettings(url) + fmt.Sprintf("\n[mcp_servers.liza]\ncommand = %q\nargs = [\"mcp\"]\nenv_vars = [\"LIZA_AGENT_ID\", \"LIZA_BROKER\", \"LIZA_ROOT\", \"LIZA_RUN\", \"LIZA_RUN_ID\", \"LIZA_TASK_ID\"]\n", liza)}
		},
	},
	{
		name: "gemini", model: "gemini-2.5-flash",
		env: func(url, home string) []string {
			return []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + url}
		},
		files: func(url, home string) map[string]string {
			return map[string]string{".gemini/settings.json": geminiSettings + "}"}
		},
		tools: func(string) map[string]string {
			return map[string]string{".gemini/settings.json": geminiSettings + fmt.Sprintf(`, "mcpServers": {"liza": {"command": %q, "args": ["mcp"], "trust": true, "env": {%s}}}}`, liza, handedOn)}
		},
	},
	{
		name: "opencode", apart: true, silent: "429 529 quota reset", model: "fake/fake-model",
		env: func(url, home string) []string {
			return []string{"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "FAKE_API_KEY=" + key, fmt.Sprintf(`OPENCODE_CONFIG_CONTENT={"provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "fake", `+
				`"options": {"baseURL": "%s/v1", "apiKey": "{env:FAKE_API_KEY}"}, "models": {"fake-model": {"name": "fake", "tool_call": true, "limit": {"context": 200000, "output": 8000}}}}}, `+
				`"small_model": "fake/fake-model", "enabled_providers": ["fake"], "autoupdate": false, "share": "disabled"}`, url)}
		},
		tools: func(string) map[string]string {
			return map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{"mcp": {"liza": {"type": "local", "command": [%q, "mcp"], "enabled": true}}}`, liza)}
		},
	},
	{
		name: "qwen", silent: "429 529 quota reset",
		env: func(url, home string) []string {
			return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=fake-model"}
		},
		files: func(url, home string) map[string]string {
			return map[string]string{".qwen/settings.json": `{"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": true, "enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}}`}
		},
	},
	{
		name: "pi", apart: true, silent: "429 529 quota", noTools: "it takes no MCP servers", model: "fake/fake-model",
		env: func(url, home string) []string {
			return []string{"PI_CODING_AGENT_DIR=" + home + "/.pi/agent", "FAKE_API_KEY=" + key}
		},
		files: func(url, home string) map[string]string {
			return map[string]string{".pi/agent/models.json": fmt.Sprintf(`{"providers": {"fake": {"baseUrl": "%s/v1", "api": "openai-completions", "apiKey": "FAKE_API_KEY", "models": [{"id": "fake-model", "name": "fake", "contextWindow": 200000, "maxTokens": 8000}]}}}`, url)}
		},
	},
	{
		name: "cline", apart: true, silent: "429 529 quota reset", model: "fake-model",
		env: func(url, home string) []string { return []string{"FAKE_API_KEY=" + key} },
		files: func(url, home string) map[string]string {
			return map[string]string{".cline/data/settings/global-settings.json": `{"telemetryOptOut": true, "autoUpdateEnabled": false}`}
		},
		setup: func(url string) []string {
			return []string{"cline", "auth", "-p", "openai-compatible", "-k", key, "-m", "fake-model", "-b", url + "/v1"}
		},
		tools: func(string) map[string]string {
			return map[string]string{".cline/data/settings/cline_mcp_settings.json": fmt.Sprintf(`{"mcpServers": {"liza": {"transport": {"type": "stdio", "command": %q, "args": ["mcp"]}}}}`, liza)}
		},
		config: "    command: [cline, --json, --auto-approve, \"true\", -P, openai-compatible]\n",
	},
	{
		name: "cn", apart: true, silent: "429 529 quota reset",
		env: func(url, home string) []string { return nil },
		files: func(url, home string) map[string]string {
			return map[string]string{".continue/config.yaml": cnSettings(url), ".continue/.onboarding_complete": "2026-11-21T08:00:00.000Z"}
		},
		tools: func(url string) map[string]string {
			return map[string]string{".continue/config.yaml": cnSettings(url) + fmt.Sprintf("mcpServers:\n  - name: liza\n    command: %s\n    args: [mcp]\n", liza)}
		},
	},
}

func codexSettings(url string) string {
	return fmt.Sprintf("model = \"fake-model\"\nmodel_provider = \"fake\"\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"%s/v1\"\nenv_key = \"FAKE_API_KEY\"\nwire_api = \"responses\"\n", url)
}

func cnSettings(url string) string {
	return fmt.Sprintf("name: fake\nversion: 0.0.1\nschema: v1\nmodels:\n  - {name: fake, provider: openai, model: fake-model, apiBase: \"%s/v1\", apiKey: %s, capabilities: [tool_use]}\n", url, key)
}

// handedOn names what the server of the tools needs: gemini keeps some variables from its servers.
const handedOn = `"LIZA_BROKER": "$LIZA_BROKER"`

const geminiSettings = `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}`

// settings are the person's .liza/config.yaml.
func (p program) settings(url string) string {
	text := fmt.Sprintf("agents:\n  default: %s\n  %s:\n%s", p.name, p.name, p.config)
	if p.apart {
		text += fmt.Sprintf("    sandbox: {allow: {env: [FAKE_API_KEY], hosts: [%q]}}\n", strings.TrimPrefix(url, "http://"))
	}
	return text + fmt.Sprintf("models: {default: %q}\n", p.model)
}

// home makes the home folder of a person who uses the program, and has settings of all others.
func (p program) home(t *testing.T, url string, tools bool) string {
	t.Helper()
	home := t.TempDir()
	for _, one := range programs {
		if one.files != nil {
			writeAll(t, home, one.files(url, home))
		}
	}
	if tools && p.tools != nil {
		writeAll(t, home, p.tools(url))
	}
	return home
}

func writeAll(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		write(t, filepath.Join(folder, name), text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
