. "${0%/*}/lib.sh" || exit 3
mkdir .liza
printf 'agents:\n  mine: {command: [env], prompt: stdin, output: text}\n' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null
task one
export PWD OLDPWD=/elsewhere
limit=20 try liza-agent --once --cli mine coder one
out=$(cat .liza/output/* | grep -E '(^|[ "])PWD=' || true)
says 'worktrees/one' && mended "$out"
says 'project' && defect "the program is told that it works in the main checkout: $out"
