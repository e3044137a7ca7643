. "${0%/*}/lib.sh" || exit 3
mkdir .liza "$HOME/bin"
printf '#!/bin/sh\necho I am here\n' > "$HOME/bin/mine"
chmod +x "$HOME/bin/mine"
printf 'agents:\n  mine: {command: ["~/bin/mine"], prompt: stdin, output: text}\n' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
limit=20 try liza-agent --once --cli mine coder one
out=$out$(cat .liza/output/* 2> /dev/null || true)
says 'I am here' && mended '~/ is the home folder'
says 'no such file|not installed|not found' && defect "~/ is looked for in the project: $out"
