. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
cat > scenario.yaml <<'S'
coder:
  one:
    - {run: "ln -s /etc/passwd one.txt", commit: One}
default:
  code_reviewer: {review: {status: ok}}
S
try liza-agent --scenario scenario.yaml coder one
try liza-agent --scenario scenario.yaml code-reviewer one
[ "$(status one)" = APPROVED ] && defect 'a link that leads out of the tree is approved'
mended "it is $(status one)"
