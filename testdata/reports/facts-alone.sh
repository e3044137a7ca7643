# Reported: liza facts alone was an error.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
try liza facts
[ $code = 0 ] && mended "$out"
defect "liza facts: $out"
