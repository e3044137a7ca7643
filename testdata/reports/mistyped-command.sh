# Reported: A mistyped command got no suggestion.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
try liza taks
says "did you mean" && mended "$out"
defect "$out"
