package toolchain

// Toolchain has the tools of one language.
type Toolchain struct {
	Name  string
	Marks []string // files that identify a project built with it, in its folder or one below
	Only  bool     // other projects do not get its variables: another tool would warn about them

	// Programs are looked up in PATH. Their installation folders are shown.
	Programs []string

	// Places are folders of the person: the first existing one of each list. $NAME is a variable, ~ the home folder.
	Places map[string][]string
	Tools  []string // places with programs: shown
	Caches []string // places with downloads: shown
	Home   []string // files of the home folder that are shown

	Env  []Variable
	Pass []string // variables of the person to pass on; a * at the end matches any ending

	// Registries are the hosts of its packages.
	Registries []string
}

// Variable is a variable for a run. {cache} is the project's cache of the toolchain, {filled} the one that setup has filled,
// {NAME} a place, $NAME a variable of the person. A variable with a missing place is omitted; of several with one name the
// first remaining one counts.
type Variable struct {
	Name, Value string
	When        when
}

type when string

const (
	always  when = ""
	offline when = "offline" // the registries cannot be reached: fail at once instead of trying again
	online  when = "online"
	proxied when = "proxied" // {host} and {port} are those of the proxy
)

// Table has every toolchain. No cache of a person is ever writable; tests check that.
var Table = []Toolchain{
	{
		Name: "go", Marks: []string{"go.mod", "go.work"}, Programs: []string{"go"},
		Places: map[string][]string{
			"mod":  {"$GOMODCACHE", "$GOPATH/pkg/mod", "~/go/pkg/mod"},
			"bin":  {"$GOBIN", "$GOPATH/bin", "~/go/bin"},
			"root": {"$GOROOT"},
		},
		Tools: []string{"bin", "root"}, Caches: []string{"mod"}, Home: []string{".config/go/env"},
		Env: []Variable{
			{"GOMODCACHE", "{cache}/mod", always}, {"GOCACHE", "{cache}/build", always},
			{"GOPROXY", "file://{mod}/cache/download,$GOPROXY", online}, {"GOPROXY", "$GOPROXY", online},
			{"GOPROXY", "file://{mod}/cache/download,https://proxy.golang.org", online}, {"GOPROXY", "https://proxy.golang.org", online},
			{"GOPROXY", "file://{filled}/mod/cache/download,file://{mod}/cache/download," + noModules, offline}, {"GOPROXY", "file://{filled}/mod/cache/download," + noModules, offline},
			{"GOPROXY", "file://{mod}/cache/download," + noModules, offline}, {"GOPROXY", noModules, offline},
			{"GONOPROXY", "none", always}, // private modules come from the person's cache as well
			{"GOTOOLCHAIN", "local", always},
			{"GOFLAGS", "$GOFLAGS -modcacherw", always}, {"GOFLAGS", "-modcacherw", always}, // so that the cache can be removed
		},
		Pass:       []string{"GOOS", "GOARCH", "GOARM", "GOAMD64", "GOEXPERIMENT", "GODEBUG", "GOPRIVATE", "GONOSUMDB", "GOSUMDB", "GOROOT", "GOMAXPROCS", "CGO_*", "CC", "CXX"},
		Registries: []string{"proxy.golang.org", "sum.golang.org", "storage.googleapis.com"},
	},
	{
		Name: "node", Marks: []string{"package.json"}, Programs: []string{"node", "npm", "pnpm", "yarn", "bun", "deno"},
		Places: map[string][]string{
			"nvm": {"$NVM_DIR", "~/.nvm"}, "volta": {"$VOLTA_HOME", "~/.volta"}, "fnm": {"$FNM_DIR", "~/.local/share/fnm"}, "bun": {"$BUN_INSTALL/bin", "~/.bun/bin"},
		},
		Tools: []string{"nvm", "volta", "fnm", "bun"},
		// npm cannot use a cache that is read only: what setup has downloaded fills the project's own.
		Env: []Variable{
			{"npm_config_cache", "{cache}/npm", always}, {"YARN_CACHE_FOLDER", "{cache}/yarn", always},
			{"BUN_INSTALL_CACHE_DIR", "{cache}/bun", always}, {"COREPACK_HOME", "{cache}/corepack", always}, {"DENO_DIR", "{cache}/deno", always},
			{"NODE_USE_ENV_PROXY", "1", proxied}, // its fetch reads no HTTP_PROXY otherwise
			{"npm_config_update_notifier", "false", always}, {"npm_config_prefer_offline", "true", always},
			{"npm_config_fetch_retries", "0", offline}, {"npm_config_audit", "false", offline}, {"npm_config_fund", "false", offline},
		},
		Pass:       []string{"NODE_ENV", "NODE_OPTIONS", "NODE_PATH", "NVM_DIR", "VOLTA_HOME", "FNM_DIR"},
		Registries: []string{"registry.npmjs.org", "registry.yarnpkg.com"},
	},
	{ // apart: npm warns about a setting that it does not know
		Name: "pnpm", Marks: []string{"pnpm-lock.yaml", "pnpm-workspace.yaml"}, Only: true, Programs: []string{"pnpm"},
		Env:        []Variable{{"npm_config_store_dir", "{cache}/store", always}, {"pnpm_config_store_dir", "{cache}/store", always}}, // up to version 10, and since
		Registries: []string{"registry.npmjs.org"},
	},
	{
		Name: "python", Marks: []string{"pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile"}, Programs: []string{"python3", "python", "pip", "pip3", "uv", "poetry", "pytest"},
		Places: map[string][]string{
			"pyenv": {"$PYENV_ROOT", "~/.pyenv"}, "uv": {"$UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python"}, "venv": {"$VIRTUAL_ENV"}, "conda": {"$CONDA_PREFIX"},
			"user": {"$PYTHONUSERBASE/lib", "~/.local/lib"},
		},
		Tools: []string{"pyenv", "uv", "venv", "conda"}, Caches: []string{"user"},
		Env: []Variable{
			{"PIP_CACHE_DIR", "{cache}/pip", always}, {"UV_CACHE_DIR", "{cache}/uv", always}, {"POETRY_CACHE_DIR", "{cache}/poetry", always},
			{"PIP_DISABLE_PIP_VERSION_CHECK", "1", always},
			{"PIP_RETRIES", "0", offline}, {"UV_OFFLINE", "1", offline},
			{"PYENV_ROOT", "{pyenv}", always},
		},
		Pass:       []string{"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUSERBASE", "PYENV_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX"},
		Registries: []string{"pypi.org", "files.pythonhosted.org"},
	},
	{
		Name: "rust", Marks: []string{"Cargo.toml"}, Programs: []string{"cargo", "rustc"},
		Places: map[string][]string{
			"bin": {"$CARGO_HOME/bin", "~/.cargo/bin"}, "rustup": {"$RUSTUP_HOME", "~/.rustup"},
		},
		Tools: []string{"bin", "rustup"},
		Env: []Variable{
			{"CARGO_HOME", "{cache}/cargo", always}, {"RUSTUP_HOME", "{rustup}", always}, {"RUSTUP_AUTO_INSTALL", "0", always},
			{"CARGO_NET_OFFLINE", "true", offline}, {"CARGO_NET_RETRY", "0", offline},
		},
		Pass:       []string{"RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUST_BACKTRACE", "RUST_LOG", "CARGO_BUILD_*", "CARGO_PROFILE_*", "CARGO_TERM_*"},
		Registries: []string{"index.crates.io", "static.crates.io", "crates.io"},
	},
	{
		Name: "java", Marks: []string{"pom.xml", "build.gradle", "build.gradle.kts"}, Programs: []string{"java", "mvn", "gradle"},
		Places: map[string][]string{
			"home": {"$JAVA_HOME"}, "sdkman": {"$SDKMAN_DIR", "~/.sdkman"}, "m2": {"~/.m2/repository"}, "gradle": {"$GRADLE_USER_HOME/caches", "~/.gradle/caches"},
		},
		Tools: []string{"home", "sdkman"}, Caches: []string{"m2", "gradle"},
		Env: []Variable{
			{"MAVEN_OPTS", "$MAVEN_OPTS " + mavenCache + javaProxy, proxied}, {"MAVEN_OPTS", mavenCache + javaProxy, proxied}, {"MAVEN_OPTS", mavenOwn + javaProxy, proxied},
			{"MAVEN_OPTS", "$MAVEN_OPTS " + mavenCache, always}, {"MAVEN_OPTS", mavenCache, always}, {"MAVEN_OPTS", mavenOwn, always},
			{"GRADLE_OPTS", "$GRADLE_OPTS" + javaProxy, proxied}, {"GRADLE_OPTS", javaProxy, proxied}, {"GRADLE_OPTS", "$GRADLE_OPTS", always},
			{"GRADLE_USER_HOME", "{cache}/gradle", always}, {"GRADLE_RO_DEP_CACHE", "{gradle}", always},
		},
		Pass:       []string{"JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME"},
		Registries: []string{"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org"},
	},
}

const (
	// noModules ends a GOPROXY like "off": go shows it in its error, and that "off" is a setting of Liza's nobody could know.
	noModules = "file:///no-registries-for-runs/liza-config-set-sandbox.allow.registries-true"

	mavenOwn   = "-Dmaven.repo.local={cache}/repository"
	mavenCache = mavenOwn + " -Dmaven.repo.local.tail={m2}"
	javaProxy  = " -Dhttp.proxyHost={host} -Dhttp.proxyPort={port} -Dhttps.proxyHost={host} -Dhttps.proxyPort={port}" // java leaves its own machine out by itself
)
