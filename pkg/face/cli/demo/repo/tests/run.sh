#!/bin/sh
# Runs every tests/*_test.sh; each is a line of sh that fails when something is wrong.
failed=0
for t in tests/*_test.sh; do
  [ -e "$t" ] || continue
  if sh -eu "$t"; then echo "ok   $t"; else echo "FAIL $t"; failed=1; fi
done
exit $failed
