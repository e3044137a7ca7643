. "${0%/*}/lib.sh" || exit 3
mkdir .liza
cat > check.sh <<'S'
echo '=== RUN   TestOld'; echo '--- FAIL: TestOld (0.00s)'
if [ -e one.txt ]; then echo '--- FAIL: TestGreen (0.00s)'; else echo '--- PASS: TestGreen (0.00s)'; fi
echo FAIL; exit 1
S
printf 'integration: {checks: ["sh check.sh"]}\n' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
work one one.txt
approve one
try liza merge one
[ "$(status one)" = MERGED ] && defect 'what breaks a green test is merged because another one was red'
says 'breaks TestGreen' && mended "$out"
