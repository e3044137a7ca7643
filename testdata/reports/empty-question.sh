# Reported: A block asked "?".
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
liza --as coder-1 claim one > /dev/null
try liza --as coder-1 block one --reason 'The spec does not name the greeting' --question '?' --attempted 'I have read specs/vision.md'
[ $code = 0 ] && defect 'the question is "?"'
says 'question' && mended "$out"
