# Reported: liza serve took a token of three letters.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
export PAGE=abc
limit=5 try liza serve --addr 127.0.0.1:0 --token-env PAGE
[ $code = 124 ] && defect 'a token of three letters is taken'
says '22 characters|128' && mended "$out"
