# Reported: liza status showed a board with an unknown status as if it were right.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
sed -i '/^  - id: one$/,/status:/s/status: .*/status: WONDERFUL/' .liza/state.yaml
try liza status
[ $code = 0 ] && says WONDERFUL && defect 'an unknown status is shown as if it were right'
[ $code = 3 ] && mended "$out"
