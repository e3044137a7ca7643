. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
cat > scenario.yaml <<'S'
coder:
  one:
    - run: >-
        env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" setsid -f sh -c 'cd ../..;
        liza note "somebody says so" > said 2>&1; echo $? > ended'; for i in $(seq 300); do test -e ../../ended && break; sleep 0.1; done; echo one > one.txt
      commit: One
S
liza-agent --scenario scenario.yaml coder one > /dev/null 2>&1
out=$(cat said)
[ -s ended ]
grep -q 'somebody says so' .liza/state.yaml && defect 'what a run has detached speaks as a person'
mended "$out"
