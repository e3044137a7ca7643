# Reported: A named pipe in the place of config.yaml was waited for without end.
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
mkfifo .liza/config.yaml 2> /dev/null || { rm .liza/config.yaml; mkfifo .liza/config.yaml; }
limit=10 try liza status
[ $code = 124 ] && defect 'a named pipe in the place of config.yaml is waited for'
mended "$out"
