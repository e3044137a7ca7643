. "${0%/*}/lib.sh" || exit 3
mkdir .liza
printf '#!/bin/sh\necho "Claude AI usage limit reached|1999999999"\nexit 1\n' > mine.sh
printf 'agents:\n  mine: {command: [sh, ./mine.sh], prompt: stdin, output: text}\n' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
task one
limit=10 try liza-agent --once --cli mine coder one
out="$out $(cat .liza/log.yaml)"
says 'crashed' && defect 'a quota window is taken for a crash'
says 'quota|usage limit' && mended 'it is a quota window'
