#!/usr/bin/env bash
# An MCP client that nobody here wrote lists and calls what `liza mcp` offers: the command line
# of the protocol's inspector, from the npm registry. Usage: scripts/mcp-inspector.sh BIN_DIR
#
# It is installed once, at a pinned version and with the node that it needs, below
# $XDG_CACHE_HOME/liza; nothing is written into the repository or the home folder.
set -euo pipefail

inspector=@modelcontextprotocol/inspector@2.12.0
node=node@22.23.3

bin=$(cd "${1:?usage: scripts/mcp-inspector.sh BIN_DIR}" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/liza/mcp-inspector-2.12.0-node-22.23.3
if [ ! -e "$cache/ready" ]; then
	echo "installing $inspector and $node below $cache"
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error "$node" "$inspector" >/dev/null
	touch "$cache/ready"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home PATH="$cache/node_modules/.bin:$bin:$PATH" GIT_CONFIG_NOSYSTEM=1
mkdir -p "$HOME" "$work/project/specs"
cd "$work/project"
git config --global user.name Ada
git config --global user.email ada@example.com
echo '# Vision' >specs/vision.md
git init --quiet --initial-branch=main
git add --all
git commit --quiet --message Start
liza init 'Say hello' >/dev/null
liza add-task --id task-1 --desc 'Say hello' --spec specs/vision.md --done 'hello.txt says hello' --scope hello.txt >/dev/null

failed=0
# ask WANTED WORDS…: what the inspector prints for these words has the text WANTED in it.
ask() {
	local wanted=$1 said code=0
	shift
	said=$(mcp-inspector --cli "$bin/liza" mcp ${agent[@]+"${agent[@]}"} "$@" 2>&1) || code=$?
	if [[ $said == *"$wanted"* && ($code == 0 || $wanted == *refused*) ]]; then
		printf 'ok      %s: %s\n' "$*" "$(grep -m 1 -F -- "$wanted" <<<"$said" | sed 's/^ *//' | cut -c 1-100)"
	else
		printf 'FAILED  %s (exit %d): no %s in\n%s\n' "$*" "$code" "$wanted" "$said"
		failed=1
	fi
}

echo "as a person"
agent=()
ask '"name": "submit"' --method tools/list --strict
ask '"id": "note-1"' --method tools/call --tool-name note --tool-arg 'text=Keep the flags stable'
ask '"status": "UNCLAIMED"' --method tools/call --tool-name add-task --tool-arg id=task-2 'description=Say bye' spec_ref=specs/vision.md 'done_when=bye.txt says bye' scope=bye.txt
ask '"code": "refused"' --method tools/call --tool-name submit --tool-arg task=task-1
ask '"uri": "liza://board"' --method resources/list
ask '"uriTemplate": "liza://task/{id}"' --method resources/templates/list
ask 'task-2' --method resources/read --uri liza://board
ask '# Vision' --method resources/read --uri liza://spec
ask '"name": "planner"' --method prompts/list
ask 'Say hello' --method prompts/get --prompt-name coder --prompt-args task=task-1

echo "as coder-1"
token=$(liza --as coder-1 register | sed -n 's/^export LIZA_AGENT_TOKEN=//p')
liza --as coder-1 claim task-1 >/dev/null
agent=(-e LIZA_AGENT_ID=coder-1 -e LIZA_AGENT_TOKEN="$token" -e LIZA_TASK_ID=task-1)
ask '"name": "intent"' --method tools/list
ask '"ok": true' --method tools/call --tool-name intent --tool-arg task=task-1 'intent=Say hello' 'validation=grep hello hello.txt'
ask '"code": "refused"' --method tools/call --tool-name submit --tool-arg task=task-1
ask '\"status\": \"CLAIMED\"' --method resources/read --uri liza://task

liza log --task task-1 --action checkpoint | grep -q coder-1 || { echo "FAILED  the log has no intent of coder-1"; failed=1; }
liza validate | tail -n 1 | grep -qx VALID || { echo "FAILED  the board is not valid"; failed=1; }
exit $failed
