# Reported: A merge with -s ours took away what another task had merged, and the diff did not show it.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task feature
task fix
liza --as coder-1 claim feature > /dev/null
work fix fix.txt coder-2
approve fix
liza merge fix > /dev/null
cd .worktrees/feature
echo feature > feature.txt
keep Feature
git merge -q -s ours integration -m merge
cd ../..
liza --as coder-1 submit feature > /dev/null
try liza diff feature --stat
says 'fix.txt' && mended "$out"
says 'feature.txt' && defect 'what another task merged is taken away, and the diff shows one file'
