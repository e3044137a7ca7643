# Reported: SKIP_SPEC_FILE_CHECK=1 did not switch the look for spec files off.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
export SKIP_SPEC_FILE_CHECK=1
try liza add-task --id one --desc 'Write one' --spec specs/later.md --done 'one.txt holds one line' --scope one.txt --type docs
[ $code = 0 ] && mended 'the look for spec files is off'
says 'does not exist|later.md' && defect "$out"
