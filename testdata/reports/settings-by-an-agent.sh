. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
cat > scenario.yaml <<'S'
coder:
  one:
    - run: env -u LIZA_AGENT_ID -u LIZA_AGENT_TOKEN liza config set lease_duration 4242 > ../../said 2>&1; echo one > one.txt
      commit: One
S
liza-agent --scenario scenario.yaml coder one > /dev/null 2>&1
out=$(cat said; cat .liza/state.yaml)
says 'lease_duration: 4242' && defect 'a coder has changed a setting'
says 'human may|may not' && mended "$(head -1 said)"
