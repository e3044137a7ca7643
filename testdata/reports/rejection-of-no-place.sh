# Reported: A rejection named a line that the file does not have.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
work one one.txt
liza --as code-reviewer-1 claim-review one > /dev/null
try liza --as code-reviewer-1 verdict one reject --reason 'one.txt:90 greets nobody, it has to greet the reader'
[ $code = 0 ] && defect 'a rejection names line 90 of a file of one line'
says 'one.txt' && mended "$out"
