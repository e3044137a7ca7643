. "${0%/*}/lib.sh" || exit 3
closed
export GREETING=hello
mkdir .liza
cat > mine.sh <<'S'
echo "greeting: ${GREETING-none}" > one.txt
git add one.txt
git commit -qm One
echo '{"action": "COMPLETED", "evidence_files": ["one.txt"], "summary_for_supervisor": "It has a line."}'
S
printf 'agents:\n  mine: {command: [sh, %s/mine.sh], prompt: stdin, output: text, env: {GREETING: hello}}\nsandbox: {level: closed, allow: {read: [%s/mine.sh]}}\n' "$PWD" "$PWD" > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
try liza-agent --once --cli mine coder one
line=$(git show task/one:one.txt 2> /dev/null || true)
[ "$line" = 'greeting: none' ] && defect 'a variable that agents.NAME.env sets does not reach a contained run'
[ "$line" = 'greeting: hello' ] && mended 'it reaches the run'
echo "$out"
