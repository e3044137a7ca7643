# Reported: A task without a scope was claimed.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
sed -i '/^    scope: one.txt/d' .liza/state.yaml
try liza --as coder-1 claim one
[ $code = 0 ] && defect 'a task without a scope is claimed'
says 'scope' && mended "$out"
