# Reported: done_when "Tests pass" and "users are happy" were taken.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
try liza add-task --id one --desc 'Write one' --spec specs/vision.md --done 'Tests pass' --scope one.txt --type docs
first=$code
try liza add-task --id two --desc 'Write two' --spec specs/vision.md --done 'users are happy' --scope two.txt --type docs
[ $first = 0 ] || [ $code = 0 ] && defect 'a criterion says nothing of its task'
says 'vague' && mended "$out"
