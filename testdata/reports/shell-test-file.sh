# Reported: x_test.sh was not taken for a test file.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
liza add-task --id one --desc 'Write one' --spec specs/vision.md --done 'one.sh prints one' --scope one.sh,x_test.sh --type feature > /dev/null
liza --as coder-1 claim one > /dev/null
(cd .worktrees/one && echo 'echo one' > one.sh && printf 'test "$(sh one.sh)" = one || exit 1\n' > x_test.sh && git add -A && git commit -qm one)
try liza --as coder-1 submit one
[ $code = 0 ] && mended 'x_test.sh is a test'
says 'test' && defect "$out"
