# Reported: After kill -9 between journal and board the board was INVALID.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
# A writer that was killed between journal and board leaves the entry, and the board and the stamp of before.
tar cf ../before.tar .liza .git
liza tell planner more > /dev/null
cp .liza/log.yaml ../log.yaml
tar xf ../before.tar
cp ../log.yaml .liza/log.yaml
try liza validate
says 'V57' && says 'INVALID' && defect "$out"
[ $code = 0 ] && mended "$out"
