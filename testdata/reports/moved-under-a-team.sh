. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
task one
printf 'coder: {one: [{preset: hang}]}\n' > ../scenario.yaml
timeout -k 2 20 liza run --planners 0 --coders 1 --scenario "$work/scenario.yaml" > ../said 2>&1 &
team=$!
for _ in $(seq 300); do [ "$(status one)" = CLAIMED ] && break; sleep 0.1; done
[ "$(status one)" = CLAIMED ]
cd "$work"
mv project moved
code=0
wait $team || code=$?
out=$(cat said)
[ -e project/.liza ] && defect 'there is a new .liza at the old place'
[ $code = 124 ] || [ $code = 137 ] && defect 'the team goes on without its project'
says 'moved|not there|gone|no longer' && mended "$(tail -2 <<< "$out")"
