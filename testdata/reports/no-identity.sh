. "${0%/*}/lib.sh" || exit 3
keep
git config --global --unset user.name
git config --global --unset user.email
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.useConfigOnly GIT_CONFIG_VALUE_0=true
liza init 'Say hello' > /dev/null
task one
cat > scenario.yaml <<'S'
coder:
  one:
    - {run: "echo one > one.txt && git add -A && git commit -qm One"}
S
try liza-agent --scenario scenario.yaml coder one
[ "$(status one)" = READY_FOR_REVIEW ] && mended 'the work is signed and handed in'
says 'identity|tell me who you are|128|BLOCKED|crashed|exit code' && defect "$out"
