. "${0%/*}/lib.sh" || exit 3
printf 'exit 0\n' > one_test.sh
mkdir tests
printf 'def test_one():\n    assert 1 + 1 == 2\n' > tests/test_one.py
keep
liza init 'Say hello' > /dev/null
liza add-task --id one --desc 'Write one' --spec specs/vision.md --done 'one.txt holds one line' --scope one.txt,tests/test_one.py --type docs > /dev/null
cat > scenario.yaml <<'S'
coder:
  one:
    - {run: "echo one > one.txt; git rm -q tests/test_one.py", commit: One}
default:
  code_reviewer: {review: {status: ok}}
S
liza-agent --scenario scenario.yaml coder one > /dev/null 2>&1
try liza-agent --scenario scenario.yaml code-reviewer one
[ "$(status one)" = APPROVED ] && defect 'work that deletes a test is approved'
[ "$(status one)" = REJECTED ] && mended 'the gate overrules the approval'
