# Reported: liza --as planner-1 add-task registered a planner that has no process.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
liza --as planner-1 add-task --id one --desc 'Write one' --spec specs/vision.md --done 'one.txt holds one line' --scope one.txt --type docs > /dev/null
grep -q 'planner-1:' .liza/state.yaml && defect 'planner-1 is registered, and no process is there'
mended 'nobody is registered'
