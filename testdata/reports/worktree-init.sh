# Reported: liza init in a linked worktree began at the branch of the other checkout.
. "${0%/*}/lib.sh" || exit 3
keep
git branch side
git worktree add -q ../side side
cd ../side
echo side > side.txt
keep Side
liza init 'Say hello' > /dev/null
git cat-file -e integration:side.txt 2> /dev/null && mended 'integration begins at the branch of this worktree'
defect 'integration begins at the branch of the other checkout'
