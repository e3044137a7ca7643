# Reported: liza init took a spec that no agent can see, because it was not committed.
. "${0%/*}/lib.sh" || exit 3
echo begin > begin.txt
git add begin.txt
git commit -qm Begin
try liza init 'Say hello' --spec specs/vision.md
[ $code = 0 ] && defect 'the spec that no agent can see is taken'
says 'not committed' && mended "$out"
