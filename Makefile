# `make` alone lists the targets. What CI runs is `make check` and `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X liza/pkg/face/cli.version=$(VERSION)
FUZZTIME ?= 30s
CRASHES ?= 5
SEQUENCES ?= 100000
SEQUENCES_SEED ?= 0
FAULTS ?= 200
TASKS ?= 5000
LEVEL ?= open
BOARD ?= file
LOSSES ?= 10000
FAULTS_SEED ?= 1
RUNS ?= 1000
LIVENESS_SEED ?= 1
BENCHTIME ?= 1s
# One set of flags, that of a release, for all that is built without the race detector: nothing is compiled twice.
export GOFLAGS := -trimpath $(filter-out -trimpath,$(GOFLAGS))
export CGO_ENABLED ?= 0
# The race detector needs cgo. A program with it sleeps for a second before it ends, and tests start hundreds of them.
RACE := CGO_ENABLED=1 GORACE="atexit_sleep_ms=0 $${GORACE-}" scripts/in-memory go test -race -shuffle=on -p 1
# The packages in which goroutines meet are tested with the race detector, all others without.
CONCURRENT := $(addprefix ./pkg/,board/store run/broker run/proxy run/agent team/supervisor team/watch)
OTHERS := go list ./... | grep -vxE '$(subst $() ,|,$(patsubst ./%,liza/%,$(CONCURRENT)))'

.PHONY: help demo test test-all nightly check build race bench bench-hosts bench-store bench-tokens bench-worktree fuzz crash power load model sequences e2e-agents e2e-gitea e2e-projects e2e-services mcp-inspector hosts-faults liveness soak figures generate install uninstall release release-check man

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## a whole sprint on a fresh example repository, with scripted agents (DEMO_DIR=folder)
	@echo "Building Liza. The first time on a machine this downloads and compiles some 400 packages, for one or two minutes; then it takes a second."
	@go build -v -ldflags '$(LDFLAGS)' -o bin/ ./cmd/liza ./cmd/liza-agent ./cmd/liza-spawn 2>&1 | \
		awk '/^[^ :#]+$$/ { if (++n % 50 == 0) { print "  " n " packages compiled"; fflush() }; next } { print; fflush() }'
	@bin/liza demo $(if $(DEMO_DIR),--dir $(DEMO_DIR),--keep)

test: ## what shows that a change is sound: every test once, the packages with goroutines with the race detector
	scripts/in-memory go test -shuffle=on -short $$($(OTHERS))
	scripts/in-memory go -C cmd/liza-telemetry test -short ./...
	$(RACE) -short $(CONCURRENT)

test-all: ## every test, with short forms of power losses, liveness, growth and faults on several hosts; then the race detector
	scripts/in-memory go test -shuffle=on -timeout 40m $$($(OTHERS) | grep -vE '/pkg/face/(cli|power)$$')
	scripts/in-memory go -C cmd/liza-telemetry test ./...
	@# These two start so many processes, and wait for so much, that each has the machine for itself.
	scripts/in-memory go test -shuffle=on -timeout 40m ./pkg/face/cli
	scripts/in-memory go test -shuffle=on -timeout 40m ./pkg/face/power
	$(RACE) -timeout 30m $(CONCURRENT)

nightly: crash power model sequences liveness soak hosts-faults fuzz ## the long forms of the harnesses, for hours

check: ## formatting, vet (Linux and macOS), staticcheck, go.mod, package imports, links to specs, sleeps in tests
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go vet -tags e2e ./...
	GOOS=darwin go vet -tags e2e ./...
	go tool staticcheck -tags e2e ./...
	go mod tidy -diff
	@# The exporter of telemetry is a module of its own, so that nobody else has its libraries.
	go -C cmd/liza-telemetry vet ./...
	go -C cmd/liza-telemetry mod tidy -diff
	go test ./pkg/ -run 'TestImports|TestEveryLink'
	@# A test that sleeps is slow or flaky; inside a synctest bubble sleeping costs nothing.
	@out=$$(grep -rl --include='*_test.go' 'time\.Sleep(' . | xargs -r grep -L '"testing/synctest"' || true); \
	if [ -n "$$out" ]; then echo "time.Sleep in a test outside testing/synctest:"; echo "$$out"; exit 1; fi

build: ## bin/liza, bin/liza-agent, bin/liza-spawn and bin/liza-telemetry
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...
	go -C cmd/liza-telemetry build -ldflags '$(LDFLAGS)' -o '$(CURDIR)/bin/' .

install: ## programs into the Go bin folder, man pages and shell completion into ~/.local (PREFIX=folder for all of it)
	@LDFLAGS='$(LDFLAGS)' PREFIX='$(PREFIX)' BINDIR='$(BINDIR)' DESTDIR='$(DESTDIR)' scripts/install

uninstall: ## remove what `make install` has put there, with the same PREFIX
	@PREFIX='$(PREFIX)' BINDIR='$(BINDIR)' DESTDIR='$(DESTDIR)' scripts/install --remove

release: ## archives for Linux and macOS, amd64 and arm64, with checksums, in dist/ (PLATFORMS="linux/amd64 …")
	scripts/release $(PLATFORMS)

release-check: ## build a release twice, in two folders, and compare (PLATFORMS="linux/amd64 …")
	scripts/release --check $(PLATFORMS)

man: ## one man page for each command, in man/man1
	go run ./cmd/liza __man man/man1

figures: ## lines, files, methods of a type, exported names (COMMIT=c for another commit)
	@scripts/figures $(COMMIT)

generate: ## write the generated parts of the documentation again
	@for dir in $$(grep -rl --include='*_test.go' 'func TestGenerated' pkg | xargs -r -n 1 dirname | sort -u); do \
		go test "./$$dir" -run TestGenerated -count=1 -update; done

race: ## all tests several times over with the race detector
	$(RACE) -count=5 -timeout 30m ./...

bench: ## benchmarks (BENCHTIME=1s)
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 30m ./...

hosts-faults: ## three hosts with faults: processes and PostgreSQL killed, links cut, a remote that refuses or hangs, clocks off (FAULTS=200; FAULTS_SEED=N replays)
	FAULTS=$(FAULTS) FAULTS_SEED=$(FAULTS_SEED) go test ./pkg/face/cli -run '^TestFaultsOnThreeHosts' -v -count=1 -timeout 120m

liveness: ## teams after faults of every kind: the goal is reached, or the team says what it needs (RUNS=1000; LIVENESS_SEED=N, KINDS=regular expression)
	RUNS=$(RUNS) LIVENESS_SEED=$(LIVENESS_SEED) KINDS='$(KINDS)' scripts/in-memory go test ./pkg/face/cli -run '^TestATeamGoesOnAfterAFault$$' -parallel 4 -v -count=1 -timeout 24h

soak: ## one team merges many tasks, and what it has after each batch: memory, files, threads, processes, folders, time, with slopes (TASKS=5000, LEVEL=open or closed, BOARD=file or postgres)
	SOAK_TASKS=$(TASKS) SOAK_LEVEL=$(LEVEL) SOAK_BOARD=$(BOARD) scripts/in-memory go test ./pkg/face/cli -run '^TestATeamThatGoesOnMergingDoesNotGrow$$' -v -count=1 -timeout 12h

bench-hosts: ## boards in PostgreSQL: claims beside the bare transaction and the file, by clients, a thousand agents, what a change costs another host
	go test -run '^$$' -bench 'Claim|Delta' -benchtime 2s -timeout 30m ./pkg/board/store/postgres
	go test -run '^$$' -bench 'Clients' -benchtime 1000x -timeout 30m ./pkg/board/store/postgres
	go test -run '^$$' -bench 'Agents' -benchtime 3x -timeout 30m ./pkg/board/store/postgres

bench-store: ## the store: changes, cold commands, lock, each beside its floor (BENCHTIME=1s)
	go test -run '^$$' -bench 'Store' -benchmem -benchtime $(BENCHTIME) -timeout 30m ./pkg/board/store
	go test -run '^$$' -bench 'Command' -benchtime 15x -timeout 30m ./pkg/face/cli
	go test -run '^$$' -bench 'Lock' -benchtime 1x -timeout 10m ./pkg/base/safefile

bench-worktree: ## worktrees from seeds beside a bare git worktree add and a bare copy, on the file systems that this machine can make (SHORT=--short)
	scripts/bench-worktree $(SHORT)

mcp-inspector: ## the protocol's own client lists and calls what `liza mcp` offers (installs it below the cache folder)
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/liza
	scripts/mcp-inspector.sh bin

screenshots: ## pictures of every view of the page, at 1400, 800 and 390 pixels, light and dark, in screenshots/ (needs Chromium)
	LIZA_SCREENSHOTS=$(CURDIR)/screenshots go test ./pkg/face/cli -run '^TestScreenshots$$' -v -count=1 -timeout 10m

crash: ## crash tests in their long form: every step killed 50 times, a whole team killed 25 times (CRASHES=5, CRASH_SEED=N)
	STORE_TEST_FULL=1 go test -run 'Crash|Kill|Killed|Fails|GoesOnFailing|NeverTakenForDone|SumOfAll|PowerLoss|FullDisk' -count=$(CRASHES) -timeout 60m ./...

power: ## the power goes under the real programs and the real git on a file system that forgets what was not synced (LOSSES=10000, POWER_FIRST=0; POWER_SEED=N replays one train; needs /dev/fuse and root)
	POWER_LOSSES=$(LOSSES) scripts/in-memory go test ./pkg/face/power -run '^TestNothingAcknowledged' -v -count=1 -timeout 12h

load: ## 12 coders, 4 reviewers and 60 tasks with scripted agents: every revision is checked, time and overhead per task; a board with 1,000 merges against an empty one; trains of 20 and 40 tasks; a page of 2,000 tasks; builds in the wall
	STORE_TEST_FULL=1 go test ./pkg/code/merge -run 'TestATrainFinds|TestATrainIsFaster' -parallel 1 -v -count=1 -timeout 20m
	STORE_TEST_FULL=1 go test ./pkg/face/cli -run 'TestALargeTeam|TestALargeBoard|TestASprintInTheWall|TestThePage|TestHonestWork' -v -count=1 -timeout 20m

model: ## everything that can be reached in small worlds: states explored, steps between them, and what holds in each
	MODEL_FULL=1 go test ./pkg/board/transition -run '^TestModel$$' -v -count=1 -timeout 20m

sequences: ## random sequences of verbs, crashes and clock changes (SEQUENCES=100000; SEQUENCES_SEED=N begins with one that a failure names)
	go test ./pkg/board/transition -run '^TestRandomSequences$$' -v -count=1 -timeout 60m -rapid.checks=$(SEQUENCES) -rapid.seed=$(SEQUENCES_SEED)

e2e-agents: ## real agent programs against a scripted model server: whole sprints, failures (AGENTS="claude codex")
	@scripts/e2e-agents $(AGENTS)

bench-tokens: ## tokens of a sprint of two tasks beside the bare program, with real programs and a scripted model server (AGENTS="claude codex")
	@scripts/e2e-agents --tokens $(or $(AGENTS),claude codex)

e2e-gitea: ## landing on a real Gitea server, which is built first: red CI, its fix, green, merged, killed at each step
	@scripts/e2e-gitea

e2e-projects: ## real projects of other people, built and tested by an agent and by checks at each level (PROJECTS="uuid zlib"; scripts/e2e-projects.txt)
	@scripts/e2e-projects $(PROJECTS)

e2e-services: ## a sprint with PostgreSQL and Redis beside each run and each check, contained, and a killed team (needs both servers and bubblewrap)
	@PATH="$$PATH:$$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)"; for tool in initdb redis-server bwrap; do \
		command -v $$tool >/dev/null || { echo "NOT RUN: $$tool is not on this machine" >&2; exit 75; }; done
	go test ./pkg/face/cli -run '^TestScript$$/^(services.*|howto_databases)$$' -v -count=1 -timeout 10m

fuzz: ## every fuzz target for a while (FUZZTIME=30s each)
	@grep -rn --include='*_test.go' -o 'func Fuzz[A-Za-z0-9_]*' . | sed 's|/[^/]*_test\.go:[0-9]*:func | |' | sort -u | while read -r dir target; do \
		echo "$$dir $$target"; go test "$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; done
