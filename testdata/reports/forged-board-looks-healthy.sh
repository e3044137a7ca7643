# Reported: liza status ended with 0 on a board with a forged approval.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
work one one.txt
sed -i '/^  - id: one$/,/status:/s/status: .*/status: APPROVED\n    approved_by: code-reviewer-1/' .liza/state.yaml
try liza status
[ $code = 0 ] && defect 'a forged approval, and status ends with 0'
[ $code = 3 ] && says V66 && mended 'status ends with 3 and names V66'
