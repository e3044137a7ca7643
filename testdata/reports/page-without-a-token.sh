. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
liza serve --addr 127.0.0.1:0 > said 2>&1 &
server=$!
trap 'kill $server 2> /dev/null; rm -rf "$work"' EXIT
for _ in $(seq 300); do grep -qE 'http://127' said && break; sleep 0.1; done
url=$(grep -oE 'http://127[0-9.:]+' said | head -1)
out=$(curl -s -o /dev/null -w '%{http_code}' "$url/")
[ "$out" = 401 ] || [ "$out" = 403 ] && mended "without the token the answer is $out"
[ "$out" = 200 ] && defect 'the page shows the board to everybody on the machine'
