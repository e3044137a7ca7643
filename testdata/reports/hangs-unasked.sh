. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
grep -q '^config:' .liza/state.yaml
liza config set stall_timeout 2 > /dev/null
liza config set kill_grace 1 > /dev/null
task one
cat > scenario.yaml <<'S'
coder:
  one: [{preset: hang}, {preset: hang}, {preset: hang}, {preset: hang}, {preset: hang}, {preset: hang}]
S
limit=90 try liza run --planners 0 --coders 1 --until idle --timeout 20s --scenario scenario.yaml
[ "$(status one)" = BLOCKED ] && mended 'the second hang in a row is a question'
n=$(grep -c 'outcome: stalled' .liza/state.yaml || true)
[ "$n" -gt 2 ] && defect "$n runs hung, and nobody was asked"
