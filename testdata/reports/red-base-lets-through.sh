. "${0%/*}/lib.sh" || exit 3
mkdir .liza
printf 'integration: {checks: ["exit 1"]}\n' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
work one one.txt
approve one
try liza merge
[ "$(status one)" = MERGED ] && [ $code = 0 ] && defect 'a check that can never pass lets everything through'
[ "$(status one)" = APPROVED ] && says 'liza answer' && mended "$out"
