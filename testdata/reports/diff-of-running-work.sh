# Reported: liza diff of a running task was empty until its first commit.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
liza --as coder-1 claim one > /dev/null
echo one > .worktrees/one/one.txt
try liza diff one
says '^\+one' && mended 'what is not committed is shown'
defect "the diff of a running task: $out"
