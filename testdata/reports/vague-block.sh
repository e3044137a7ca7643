# Reported: A block with the reason "stuck" was taken.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
liza --as coder-1 claim one > /dev/null
try liza --as coder-1 block one --reason stuck --question 'What shall I do here?' --attempted 'I have read the file one.txt'
[ $code = 0 ] && defect 'a block says "stuck" and nothing else'
says 'stuck|reason' && mended "$out"
