# Reported: The integration branch was moved by hand, and neither status nor doctor said so.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
git checkout -q -b evil
echo evil > evil.txt
keep Evil
git branch -f integration HEAD
git checkout -q main
try liza status
first=$out
try liza doctor
out=$first$out
says 'integration.*(moved|not made by|accept)|integration accept' && mended "$(grep -E integration <<< "$out" | head -2)"
defect 'the integration branch was moved by hand, and nothing says so'
