# Reported: A merged task had 83 lines in the file; 35 were promised.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
cat > scenario.yaml <<'S'
coder:
  one:
    - {run: "echo one > one.txt", commit: One}
default:
  code_reviewer: {review: {status: ok}}
S
liza-agent --scenario scenario.yaml coder one > /dev/null 2>&1
liza-agent --scenario scenario.yaml code-reviewer one > /dev/null 2>&1
liza merge one > /dev/null || true
[ "$(status one)" = MERGED ]
n=$(sed -n '/^  - id: one$/,/^[a-z]/p' .liza/state.yaml | grep -vcE '^[a-z]')
[ "$n" -le 35 ] && mended "a merged task has $n lines"
defect "a merged task has $n lines"
