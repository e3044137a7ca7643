# Reported: A board that was cut at the border of a task was written over.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
task two
sed -i '/^  - id: two/,$d' .liza/state.yaml
cp .liza/state.yaml stump
try liza tell planner more
cmp -s stump .liza/state.yaml || defect 'the stump of a board is written over'
[ $code != 0 ] && mended "$out"
