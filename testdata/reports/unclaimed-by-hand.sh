# Reported: A task set to UNCLAIMED by hand could be claimed by nobody, while the board was VALID.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
liza --as coder-1 claim one > /dev/null
sed -i '/^  - id: one$/,/status:/s/status: CLAIMED/status: UNCLAIMED/' .liza/state.yaml
try liza validate
valid=$code
try liza --as coder-2 claim one
[ $valid = 0 ] && [ $code != 0 ] && defect "the board is VALID, and the claim says: $out"
[ $code = 0 ] && mended 'an edit to UNCLAIMED is a release'
