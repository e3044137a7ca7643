# Reported: protocol.stall_timeout in config.yaml was "unknown key", without the command that sets it.
. "${0%/*}/lib.sh" || exit 3
mkdir .liza
printf 'protocol: {stall_timeout: 30}\n' > .liza/config.yaml
keep
try liza init 'Say hello'
try liza doctor
says 'liza config ' && mended "$(grep -E 'liza config ' <<< "$out" | head -1)"
says 'unknown key' && defect "$out"
