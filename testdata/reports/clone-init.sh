# Reported: liza init in a clone began at main, behind the remote's integration branch.
. "${0%/*}/lib.sh" || exit 3
keep
git checkout -q -b integration
echo merged > merged.txt
keep Merged
git checkout -q main
git clone -q . ../clone
cd ../clone
try liza init 'Say hello'
git cat-file -e integration:merged.txt 2> /dev/null && mended "$(tail -1 <<< "$out")"
[ $code = 0 ] && defect 'integration begins at main, behind that of the remote'
