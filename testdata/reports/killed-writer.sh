. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
cp .liza/state.yaml before.yaml
liza note more > /dev/null
cp before.yaml .liza/state.yaml
sum=$(sha256sum < .liza/state.yaml)
if compgen -G '.liza/state.yaml.*' > /dev/null; then :; fi
# A writer that was killed between journal and board leaves the entry and the board of before, with its stamp.
rm -rf .liza && git branch -qD integration
liza init 'Say hello' > /dev/null
task one
tar cf ../before.tar .liza .git
liza note more > /dev/null
cp .liza/log.yaml ../log.yaml
tar xf ../before.tar
cp ../log.yaml .liza/log.yaml
try liza validate
says 'V57' && says 'INVALID' && defect "$out"
[ $code = 0 ] && mended "$out"
