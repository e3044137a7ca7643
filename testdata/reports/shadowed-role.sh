. "${0%/*}/lib.sh" || exit 3
mkdir -p .liza/roles
cat > .liza/roles/implement.yaml <<'S'
role: implement
extends: default
context: [spec, task]
S
keep
try liza init 'Say hello'
try liza roles list
says 'fix.*(cannot|unusable|invalid|error)|error' && defect "$out"
mended "$out"
