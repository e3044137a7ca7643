package toolchain

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is a person with these paths; "link -> target" is a link. Programs are found in the folders of PATH.
func machine(environ []string, paths ...string) Person {
	there, links := map[string]bool{}, map[string]string{}
	for _, p := range append(paths, "/home/ada") {
		from, to, link := strings.Cut(p, " -> ")
		if link {
			links[from] = to
		}
		for at := from; at != "/" && at != "."; at = path.Dir(at) {
			there[at] = true
		}
	}
	p := Person{Home: "/home/ada", Environ: environ}
	p.Real = func(at string) string {
		for links[at] != "" {
			at = links[at]
		}
		if !there[at] {
			return ""
		}
		return at
	}
	p.Which = func(program string) string {
		for _, folder := range filepath.SplitList(lookUp(environ, "PATH")) {
			if at := filepath.Join(folder, program); p.Real(at) != "" {
				return at
			}
		}
		return ""
	}
	p.Glob = func(pattern string) (list []string) {
		for at := range there {
			if ok, _ := path.Match(pattern, at); ok {
				list = append(list, at)
			}
		}
		return list
	}
	return p
}

func env(t *testing.T, a Access, name string) string {
	t.Helper()
	n := 0
	for _, pair := range a.Env {
		if strings.HasPrefix(pair, name+"=") {
			n++
		}
	}
	if n > 1 {
		t.Errorf("%s is set %d times: %v", name, n, a.Env)
	}
	return lookUp(a.Env, name)
}

// Whatever the person's environment says, everything that is written is in the project's own cache.
func TestEveryCacheThatIsWrittenIsTheProjects(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/usr/bin", "GOMODCACHE=/home/ada/m", "GOCACHE=/home/ada/c", "npm_config_cache=/home/ada/n", "CARGO_HOME=/home/ada/ch", "PIP_CACHE_DIR=/home/ada/p", "GRADLE_USER_HOME=/home/ada/g",
		"UV_CACHE_DIR=/home/ada/u", "MAVEN_OPTS=-Dx", "GRADLE_OPTS=-Dy", "GOFLAGS=-trimpath"}
	paths := []string{"/home/ada/m", "/home/ada/g/caches", "/home/ada/.m2/repository"}
	for _, tc := range Table {
		for _, program := range tc.Programs {
			paths = append(paths, "/usr/bin/"+program)
		}
	}
	for _, u := range []Use{{Cache: "/p/.liza/cache", Files: []string{"pnpm-lock.yaml"}}, {Cache: "/p/.liza/cache", Files: []string{"pnpm-lock.yaml"}, Registries: true, Proxy: "127.0.0.1:3128"}} {
		a := In(machine(environ, paths...), u)
		for name, want := range map[string]string{
			"GOMODCACHE": "/go/mod", "GOCACHE": "/go/build", "npm_config_cache": "/node/npm", "npm_config_store_dir": "/pnpm/store", "pnpm_config_store_dir": "/pnpm/store", "YARN_CACHE_FOLDER": "/node/yarn", "BUN_INSTALL_CACHE_DIR": "/node/bun", "COREPACK_HOME": "/node/corepack",
			"DENO_DIR": "/node/deno", "PIP_CACHE_DIR": "/python/pip", "UV_CACHE_DIR": "/python/uv", "POETRY_CACHE_DIR": "/python/poetry", "CARGO_HOME": "/rust/cargo", "GRADLE_USER_HOME": "/java/gradle",
		} {
			if got := env(t, a, name); got != "/p/.liza/cache"+want {
				t.Errorf("%s is %q, want that of the project, %s", name, got, want)
			}
		}
		if got := env(t, a, "MAVEN_OPTS"); !strings.HasPrefix(got, "-Dx -Dmaven.repo.local=/p/.liza/cache/java/repository -Dmaven.repo.local.tail=/home/ada/.m2/repository") || strings.Contains(got, "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128") != u.Registries {
			t.Errorf("MAVEN_OPTS is %q", got)
		}
		if got := env(t, a, "GRADLE_RO_DEP_CACHE"); got != "/home/ada/g/caches" {
			t.Errorf("GRADLE_RO_DEP_CACHE is %q", got)
		}
		if got := env(t, a, "GOFLAGS"); got != "-trimpath -modcacherw" {
			t.Errorf("GOFLAGS is %q", got)
		}
		for _, folder := range a.Caches {
			if !strings.HasPrefix(folder, "/p/.liza/cache/") {
				t.Errorf("%s is to be written", folder)
			}
		}
		if want := []string{"/home/ada/.m2/repository", "/home/ada/g/caches", "/home/ada/m"}; !slices.Equal(a.Read, want) {
			t.Errorf("read are %v, want %v", a.Read, want)
		}
		if len(a.Tools) > 0 {
			t.Errorf("what is in /usr is shown again: %v", a.Tools)
		}
	}
}

func TestModulesThatThePersonHasAreUsedWithoutANetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ, paths string
		registries     bool
		want           string
	}{
		{"", "/home/ada/go/pkg/mod", false, "file:///home/ada/go/pkg/mod/cache/download," + noModules},
		{"", "/home/ada/go/pkg/mod", true, "file:///home/ada/go/pkg/mod/cache/download,https://proxy.golang.org"},
		{"GOPATH=/data/go GOPROXY=https://goproxy.example", "/data/go/pkg/mod /home/ada/go/pkg/mod", true, "file:///data/go/pkg/mod/cache/download,https://goproxy.example"},
		{"GOMODCACHE=/gone", "/home/ada/go/pkg/mod", false, "file:///home/ada/go/pkg/mod/cache/download," + noModules},
		{"GOMODCACHE=relative", "", false, noModules},
		{"", "", true, "https://proxy.golang.org"},
	} {
		p := machine(append(strings.Fields(c.environ), "PATH=/usr/bin"), append(strings.Fields(c.paths), "/usr/bin/go")...)
		a := In(p, Use{Cache: "/cache", Registries: c.registries})
		if got := env(t, a, "GOPROXY"); got != c.want {
			t.Errorf("%+v: GOPROXY is %s", c, got)
		}
		if env(t, a, "GONOPROXY") != "none" || env(t, a, "GOTOOLCHAIN") != "local" {
			t.Errorf("%v", a.Env)
		}
	}
}

func TestAnAgentBuildsWithWhatSetupHasDownloaded(t *testing.T) {
	t.Parallel()
	p := machine([]string{"PATH=/usr/bin"}, "/usr/bin/go", "/p/.liza/cache/checks/go")
	use := Use{Cache: "/p/.liza/cache/agents", Filled: "/p/.liza/cache/checks"}
	a := In(p, use)
	if got := env(t, a, "GOPROXY"); got != "file:///p/.liza/cache/checks/go/mod/cache/download,"+noModules {
		t.Errorf("GOPROXY is %s", got)
	}
	if !slices.Contains(a.Read, use.Filled) || slices.Contains(a.Caches, use.Filled+"/go") {
		t.Errorf("reads %v, writes %v", a.Read, a.Caches)
	}
	p = machine([]string{"PATH=/usr/bin"}, "/usr/bin/go", "/p/.liza/cache/checks/go", "/home/ada/go/pkg/mod")
	if got := env(t, In(p, use), "GOPROXY"); got != "file:///p/.liza/cache/checks/go/mod/cache/download,file:///home/ada/go/pkg/mod/cache/download,"+noModules {
		t.Errorf("GOPROXY is %s", got)
	}
}

// npm warns about settings that it does not know, and node's fetch goes past the proxy unless it is told.
func TestNodeUsesTheProxyAndNpmHasNoSettingOfPnpm(t *testing.T) {
	t.Parallel()
	for programs, want := range map[string]string{"/usr/bin/node /usr/bin/npm": "", "/usr/bin/node /usr/bin/pnpm": "/c/pnpm/store"} {
		a := In(machine([]string{"PATH=/usr/bin"}, append(strings.Fields(programs), "/p/pnpm-lock.yaml")...), Use{Cache: "/c", Proxy: "127.0.0.1:3128", Checkout: "/p"})
		if got := env(t, a, "npm_config_store_dir"); got != want || env(t, a, "NODE_USE_ENV_PROXY") != "1" {
			t.Errorf("with %s: npm_config_store_dir is %q, want %q; %v", programs, got, want, a.Env)
		}
	}
	if a := In(machine([]string{"PATH=/usr/bin"}, "/usr/bin/npm", "/usr/bin/pnpm", "/p/package-lock.json"), Use{Cache: "/c", Checkout: "/p"}); env(t, a, "npm_config_store_dir") != "" {
		t.Errorf("a project of npm: %v", a.Env)
	}
	if a := In(machine([]string{"PATH=/usr/bin"}, "/usr/bin/node"), Use{Cache: "/c"}); env(t, a, "NODE_USE_ENV_PROXY") != "" {
		t.Errorf("without a proxy: %v", a.Env)
	}
}

// What go says without a registry names the setting that allows one.
func TestGoNamesTheSettingThatAllowsRegistries(t *testing.T) {
	t.Parallel()
	a := In(machine([]string{"PATH=/usr/bin"}, "/usr/bin/go"), Use{Cache: "/c"})
	if got := env(t, a, "GOPROXY"); !strings.Contains(got, "sandbox.allow.registries") || !strings.HasPrefix(got, "file:///") {
		t.Errorf("GOPROXY is %s", got)
	}
}

// Launchers of programs put some variables through eval, where | ( * and others mean something.
func TestAShellReadsEachVariableAsItsWords(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, tc := range Table {
		for _, program := range tc.Programs {
			paths = append(paths, "/usr/bin/"+program)
		}
		for _, candidates := range tc.Places {
			for _, c := range candidates {
				if rest, ok := strings.CutPrefix(c, "~"); ok {
					paths = append(paths, "/home/ada"+rest)
				}
			}
		}
	}
	environ := []string{"PATH=/usr/bin", "MAVEN_OPTS=-Dx", "GRADLE_OPTS=-Dy", "GOFLAGS=-trimpath", "GOPROXY=https://goproxy.example"}
	for _, u := range []Use{{Cache: "/p/.liza/cache", Filled: "/p/.liza/checks"}, {Cache: "/p/.liza/cache", Proxy: "127.0.0.1:3128"}, {Cache: "/p/.liza/cache", Registries: true, Proxy: "127.0.0.1:3128"}} {
		a := In(machine(environ, paths...), u)
		if env(t, a, "GRADLE_OPTS") == "" || env(t, a, "MAVEN_OPTS") == "" {
			t.Fatalf("java has no variables: %v", a.Env)
		}
		for _, pair := range a.Env {
			name, value, _ := strings.Cut(pair, "=")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `eval "set -- $VALUE"; printf '%s\n' "$@"`)
			cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin", "VALUE=" + value}, t.TempDir()
			out, err := cmd.CombinedOutput()
			if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, strings.Fields(value)) {
				t.Errorf("%s=%s: %v, %s", name, value, err, out)
			}
		}
	}
}

func TestAProjectInAFolderBelowHasItsRegistry(t *testing.T) {
	t.Parallel()
	p := machine([]string{"PATH=/usr/bin"}, "/usr/bin/node", "/usr/bin/go", "/p/frontend/package.json")
	if a := In(p, Use{Root: "/p", Cache: "/c", Registries: true}); !slices.Contains(a.Hosts, "registry.npmjs.org") || slices.Contains(a.Hosts, "proxy.golang.org") {
		t.Errorf("it may reach %v", a.Hosts)
	}
	if a := In(p, Use{Files: []string{"deep/in/it/package.json", "server/go.mod"}, Cache: "/c", Registries: true}); slices.Contains(a.Hosts, "registry.npmjs.org") || !slices.Contains(a.Hosts, "proxy.golang.org") {
		t.Errorf("by its files it may reach %v", a.Hosts)
	}
}

func TestRegistriesAreThoseOfWhatTheProjectIsBuiltWith(t *testing.T) {
	t.Parallel()
	p := machine([]string{"PATH=/usr/bin"}, "/usr/bin/go", "/usr/bin/node", "/usr/bin/cargo", "/p/go.mod", "/p/package.json", "/p/pom.xml")
	if a := In(p, Use{Root: "/p", Cache: "/c"}); len(a.Hosts) > 0 || env(t, a, "npm_config_fetch_retries") != "0" || env(t, a, "CARGO_NET_OFFLINE") != "true" {
		t.Errorf("without registries: %v %v", a.Hosts, a.Env)
	}
	a := In(p, Use{Root: "/p", Cache: "/c", Registries: true})
	for _, tc := range Table {
		if got, want := slices.Contains(a.Hosts, tc.Registries[0]), slices.Contains([]string{"go", "node", "pnpm"}, tc.Name); got != want {
			t.Errorf("the registry of %s is allowed: %v, want %v", tc.Name, got, want)
		}
		if !slices.Contains(Registries(), tc.Registries[0]) {
			t.Errorf("the registry of %s is not known", tc.Name)
		}
	}
	if env(t, a, "npm_config_fetch_retries") != "" || env(t, a, "CARGO_NET_OFFLINE") != "" {
		t.Errorf("with registries: %v", a.Env)
	}
	if slices.ContainsFunc(a.Env, func(pair string) bool { return strings.HasPrefix(pair, "GRADLE") }) {
		t.Errorf("java is not installed: %v", a.Env)
	}
}

// What is installed outside of the system's folders is shown, and nothing of the home folder besides.
func TestToolsOutsideOfTheSystemAreShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, program, paths string
		want                 string
	}{
		{"in /usr", "/usr/local/go/bin/go", "", ""},
		{"a link into /usr", "/home/ada/bin/x", "/home/ada/bin/x -> /usr/lib/x/x;/usr/lib/x/x", "/home/ada/bin/x"},
		{"one file", "/home/ada/bin/x", "/home/ada/bin/x;/home/ada/.ssh/id", "/home/ada/bin/x"},
		{"node of nvm", "/home/ada/.nvm/v22/bin/node", "/home/ada/.nvm/v22/bin/node;/home/ada/.nvm/v22/lib/node_modules/npm", "/home/ada/.nvm/v22"},
		{"a package", "/home/ada/.local/bin/x", "/home/ada/.local/bin/x -> /home/ada/.local/lib/node_modules/@a/x/cli.js;/home/ada/.local/lib/node_modules/@a/x/cli.js",
			"/home/ada/.local/bin/x /home/ada/.local/lib/node_modules"},
		{"a package within a package", "/opt/n/node_modules/.bin/x", "/opt/n/node_modules/.bin/x -> /opt/n/node_modules/x/node_modules/y/y.js;/opt/n/node_modules/x/node_modules/y/y.js",
			"/opt/n/node_modules"},
		{"a tool of python", "/home/ada/.local/bin/t", "/home/ada/.local/bin/t -> /home/ada/.local/share/pipx/venvs/t/bin/t;/home/ada/.local/share/pipx/venvs/t/bin/t;/home/ada/.local/share/pipx/venvs/t/pyvenv.cfg",
			"/home/ada/.local/bin/t /home/ada/.local/share/pipx/venvs/t"},
		{"node itself in ~/.local", "/home/ada/.local/bin/node", "/home/ada/.local/bin/node;/home/ada/.local/lib/node_modules/npm", "/home/ada/.local/bin/node"},
		{"node in the home folder", "/home/ada/bin/node", "/home/ada/bin/node;/home/ada/lib/node_modules", "/home/ada/bin/node"},
		{"gone", "/home/ada/bin/gone", "", ""},
		{"none", "", "", ""},
	} {
		got := machine(nil, append(strings.Split(c.paths, ";"), "/usr/local/go/bin/go")...).Installed(c.program)
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s is shown\nwant %s", c.name, text, c.want)
		}
	}
}

// What a person has put on PATH in the home folder is there for a run, too.
func TestFoldersOfPathInTheHomeFolderAreShown(t *testing.T) {
	t.Parallel()
	p := machine([]string{"PATH=/home/ada/.local/bin:/home/ada/bin:/home/ada:/home/ada/gone:/usr/bin:bin"},
		"/home/ada/.local/bin/ruff", "/home/ada/.local/bin/tox -> /home/ada/.local/share/pipx/venvs/tox/bin/tox", "/home/ada/.local/share/pipx/venvs/tox/bin/tox", "/home/ada/.local/share/pipx/venvs/tox/pyvenv.cfg",
		"/home/ada/bin/deploy", "/home/ada/.ssh/id")
	if a, want := In(p, Use{Cache: "/c"}), []string{"/home/ada/.local/bin", "/home/ada/.local/share/pipx/venvs/tox", "/home/ada/bin"}; !slices.Equal(a.Tools, want) {
		t.Errorf("shown are %v, want %v", a.Tools, want)
	}
}

func TestAPlaceThatIsTooWideIsNotShown(t *testing.T) {
	t.Parallel()
	p := machine([]string{"PATH=/home/ada/.cargo/bin:/usr/bin", "GOROOT=/home/ada", "GOBIN=/home", "JAVA_HOME=/", "CONDA_PREFIX=/home/ada/.local", "PYENV_ROOT=/link"},
		"/usr/bin/go", "/usr/bin/java", "/usr/bin/python3", "/link -> /home/ada", "/home/ada/.cargo/bin/cargo", "/home/ada/.rustup/toolchains", "/home/ada/.config/go/env", "/home/ada/.local/share")
	a := In(p, Use{Cache: "/c"})
	if want := []string{"/home/ada/.cargo/bin", "/home/ada/.rustup"}; !slices.Equal(a.Tools, want) {
		t.Errorf("shown are %v, want %v", a.Tools, want)
	}
	if want := []string{"/home/ada/.config/go/env"}; !slices.Equal(a.Read, want) {
		t.Errorf("read are %v, want %v", a.Read, want)
	}
	if env(t, a, "RUSTUP_HOME") != "/home/ada/.rustup" || slices.Contains(a.Pass, "GO*") {
		t.Errorf("%v %v", a.Env, a.Pass)
	}
}

func TestTheTableIsSound(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{"cache": true, "filled": true, "host": true, "port": true}
	for _, tc := range Table {
		if len(tc.Marks) == 0 || len(tc.Programs) == 0 || len(tc.Registries) == 0 {
			t.Errorf("%s lacks marks, programs or registries", tc.Name)
		}
		for _, name := range slices.Concat(tc.Tools, tc.Caches) {
			if len(tc.Places[name]) == 0 {
				t.Errorf("%s has no place %s", tc.Name, name)
			}
		}
		for _, v := range tc.Env {
			for _, mention := range inPlace().FindAllString(v.Value, -1) {
				name := mention[1 : len(mention)-1]
				if !keys[name] && !slices.Contains(slices.Concat(tc.Tools, tc.Caches), name) {
					t.Errorf("%s: %s mentions %s, which is not shown", tc.Name, v.Name, name)
				}
			}
		}
		for _, secret := range []string{"GOOGLE_API_KEY", "GITHUB_TOKEN", "CARGO_REGISTRY_TOKEN", "NPM_TOKEN", "PIP_INDEX_URL"} {
			for _, pattern := range tc.Pass {
				prefix, open := strings.CutSuffix(pattern, "*")
				if secret == pattern || open && strings.HasPrefix(secret, prefix) {
					t.Errorf("%s passes %s on by %s", tc.Name, secret, pattern)
				}
			}
		}
	}
}

// A check runs what a coder has committed, and can put links into its cache; an agent of the task has that cache to read.
func TestNothingIsShownBecauseALinkInACacheLeadsToIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home, filled := filepath.Join(dir, "home"), filepath.Join(dir, "checks")
	err := errors.Join(os.MkdirAll(home+"/.ssh/mod", 0o700), os.MkdirAll(home+"/bin", 0o755), os.Mkdir(filled, 0o700), os.WriteFile(home+"/bin/go", nil, 0o755),
		os.Symlink(home+"/.ssh", filled+"/go"))
	if err != nil {
		t.Fatal(err)
	}
	a := In(On(home, []string{"PATH=" + home + "/bin"}), Use{Cache: dir + "/agents", Filled: filled})
	for _, path := range slices.Concat(a.Read, a.Tools) {
		if real, err := filepath.EvalSymlinks(path); err == nil && strings.HasPrefix(real, home+"/.ssh") {
			t.Errorf("%s is shown", path)
		}
	}
}
