. "${0%/*}/lib.sh" || exit 3
printf 'echo old.txt is missing\nexit 1\n' > check.sh
mkdir .liza
echo 'review: {checks: {tests_pass: {command: "sh check.sh"}, test_coverage: {enabled: false}, build_passes: {enabled: false}, lint_passes: {enabled: false}}}' > .liza/config.yaml
keep
liza init 'Say hello' > /dev/null 2>&1
[ -e .liza/state.yaml ]
liza add-task --id one --desc "Write one" --spec specs/vision.md --done "one.txt holds one line" --scope one.txt,tests/test_one.py --type feature > /dev/null
cat > scenario.yaml <<'S'
coder:
  one:
    - {run: "echo one > one.txt; mkdir tests; printf 'def test_one():\\n    assert open(1)\\n' > tests/test_one.py", commit: One}
default:
  code_reviewer: {review: {status: ok}}
S
liza-agent --scenario scenario.yaml coder one > /dev/null 2>&1
try liza-agent --scenario scenario.yaml code-reviewer one
[ "$(status one)" = REJECTED ] && defect 'the work is rejected for a test that was red before it'
[ "$(status one)" = APPROVED ] && mended 'a check that is red on the base does not reject'
