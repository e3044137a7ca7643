. "${0%/*}/lib.sh" || exit 3
mkdir .liza
printf 'worktree: {setup: ["echo no network today; exit 3"]}\n' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
printf 'coder: {}\n' > scenario.yaml
limit=60 try liza run --planners 0 --coders 1 --until idle --timeout 25s --scenario scenario.yaml
[ "$(status one)" = BLOCKED ] && mended 'after two failed setups in a row a person is asked'
says 'no network today|setup' && defect "it is $(status one), tried $(grep -c 'cannot set up\|setup' <<< "$out") times"
