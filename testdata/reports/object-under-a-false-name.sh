. "${0%/*}/lib.sh" || exit 3
closed
mkdir .liza
cat > mine.sh <<'S'
echo one > one.txt
git add one.txt
git commit -qm One
real=$(git rev-parse HEAD) false=1111111111111111111111111111111111111111
objects=$(git rev-parse --git-path objects)
mkdir -p "$objects/11"
cp "$objects/${real:0:2}/${real:2}" "$objects/11/${false:2}"
echo $false > "$(git rev-parse --git-path "$(git symbolic-ref HEAD)")"
echo '{"action": "COMPLETED", "evidence_files": ["one.txt"], "summary_for_supervisor": "It has a line."}'
S
printf 'agents:\n  mine: {command: [bash, %s/mine.sh], prompt: stdin, output: text}\nsandbox: {level: closed, allow: {read: [%s/mine.sh]}}\n' "$PWD" "$PWD" > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
try liza-agent --once --cli mine coder one
says 'error: cannot take over the commits' && [ "$(status one)" = CLAIMED ] && defect 'a commit under a false name ends the supervisor'
says 'the commits were not taken over: .*bad object' && [ "$(status one)" = BLOCKED ] && mended 'it is refused and told, and a person is asked'
echo "$out"
