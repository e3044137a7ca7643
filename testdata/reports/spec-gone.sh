# Reported: A task was given out whose spec file was gone.
. "${0%/*}/lib.sh" || exit 3
echo '# Hello' > specs/hello.md
keep
liza init 'Say hello' > /dev/null
liza add-task --id one --desc 'Say hello' --spec specs/hello.md --done 'one.txt says hello' --scope one.txt --type docs > /dev/null
rm specs/hello.md
try liza --as coder-1 claim one
[ $code = 0 ] && defect 'work is given out whose spec file is gone'
says 'does not exist' && mended "$out"
