# Reported: A plan without depends_on became a chain in silence.
. "${0%/*}/lib.sh" || exit 3
cat > plan.yaml <<'S'
goal: Say hello
tasks:
  - {id: one, title: One, detail: Write one, expect: one.txt says 1, scope: one.txt, spec_ref: specs/vision.md}
  - {id: two, title: Two, detail: Write two, expect: two.txt says 2, scope: two.txt, spec_ref: specs/vision.md}
S
keep
liza init 'Say hello' > /dev/null
try liza plan apply plan.yaml
says 'order: graph' && mended "$out"
[ $code = 0 ] && defect "the plan is a chain, and nobody says so: $out"
