. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
mkdir bin
printf '#!/bin/sh\necho "$@" > "%s/opened"\n' "$work" > bin/xdg-open
chmod +x bin/xdg-open
export PATH=$PWD/bin:$PATH DISPLAY=:9
liza serve --addr 127.0.0.1:0 --open > said 2>&1 &
server=$!
trap 'kill $server 2> /dev/null; rm -rf "$work"' EXIT
for _ in $(seq 300); do [ -s "$work/opened" ] && break; sleep 0.1; done
out=$(cat "$work/opened")
says 'token=' && defect 'the token is in the arguments of the browser'
says 'file:|/' && mended 'the browser is given a file'
