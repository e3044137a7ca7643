# What the scripts of reports begin with: a repository with one commit and an empty home folder. A script ends with
# "mended" (0), with "defect" (9), or with 8 where it cannot be run; any other exit code proves nothing.
set -euE -o pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'echo "it ends in line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND; last output: ${out-}" >&2; exit 3' ERR
mended() { echo "mended: $*"; exit 0; }
defect() { echo "defect: $*"; exit 9; }

# closed has runs contained; where the machine cannot do that it ends the script with 8.
closed() {
  bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true || { echo 'a closed sandbox needs bubblewrap and namespaces'; exit 8; }
  export LIZA_SANDBOX=closed
}

for name in $(compgen -e); do case $name in LIZA_* | GIT_* | XDG_*) unset "$name" ;; esac; done
export HOME=$work/home USER=ada XDG_CONFIG_HOME=$work/home XDG_STATE_HOME=$work/home/state XDG_RUNTIME_DIR=$work/run
export GIT_CONFIG_NOSYSTEM=1 LIZA_SANDBOX=open TERM=dumb
mkdir -p "$HOME" "$XDG_RUNTIME_DIR" "$work/project/specs"
chmod 700 "$XDG_RUNTIME_DIR"
git config --global user.name Ada
git config --global user.email ada@example.com
git config --global init.defaultBranch main
cd "$work/project"
git init -q
echo '# Vision' > specs/vision.md

# keep commits everything that is in the project.
keep() { git add -A && git commit -qm "${1-Begin}"; }
# try runs a command; its exit code is in $code (124: the time is over) and what it says in $out.
try() {
  code=0
  out=$(timeout -k 1 "${limit-60}" "$@" 2>&1) || code=$?
  if [ $code = 137 ]; then code=124; fi
}
# says looks for an extended regular expression in what was said.
says() { grep -qE -- "$1" <<< "$out"; }
# task ID [FILE] adds a task that needs no tests.
task() { liza add-task --id "$1" --desc "Write $1" --spec specs/vision.md --done "${2-$1.txt} holds one line" --scope "${2-$1.txt}" --type docs > /dev/null; }
# work ID FILE lets coder-1 do a task and submit it.
work() {
  liza --as "${3-coder-1}" claim "$1" > /dev/null
  (cd ".worktrees/$1" && echo "$1" > "$2" && git add -A && git commit -qm "$1")
  liza --as "${3-coder-1}" submit "$1" > /dev/null
}
# approve ID lets code-reviewer-1 approve it.
approve() {
  liza --as code-reviewer-1 claim-review "$1" > /dev/null
  liza --as code-reviewer-1 verdict "$1" approve > /dev/null
}
# status ID prints the status of a task in the file.
status() { sed -n "/^  - id: $1\$/,/status:/s/.*status: //p" .liza/state.yaml; }
