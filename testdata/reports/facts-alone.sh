. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
try liza facts
[ $code = 0 ] && mended "$out"
defect "liza facts: $out"
