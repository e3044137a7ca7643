. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task bad
task fine
cat > scenario.yaml <<'S'
coder:
  bad:
    - {preset: crash}
    - {preset: crash}
    - {preset: crash}
    - {preset: crash}
  fine:
    - {run: "echo fine > fine.txt", commit: Fine}
default:
  code_reviewer: {review: {status: ok}}
S
limit=120 try liza run --planners 0 --coders 1 --until idle --timeout 60s --scenario scenario.yaml
[ "$(status bad)" = BLOCKED ] && [ "$(status fine)" = MERGED ] && mended 'the task is blocked, the team goes on'
[ "$(status fine)" = MERGED ] || defect "one task that crashes its program ends the team: fine is $(status fine)"
