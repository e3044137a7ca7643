# Reported: A merge brought a neighbour's commit that nobody had reviewed into a submission.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
task two
liza --as coder-2 claim two > /dev/null
(cd .worktrees/two && echo two > two.txt && git add -A && git commit -qm two)
liza --as coder-1 claim one > /dev/null
(cd .worktrees/one && echo one > one.txt && git add -A && git commit -qm one && git merge -q task/two -m merge)
try liza --as coder-1 submit one
[ $code = 0 ] && defect "a neighbour's commit that nobody reviewed is handed in"
says "came in by a merge" && mended "$out"
