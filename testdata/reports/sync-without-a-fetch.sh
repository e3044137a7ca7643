# Reported: liza sync --from origin/main said that there is nothing to do, without asking the remote.
. "${0%/*}/lib.sh" || exit 3
keep
git init -q --bare ../remote.git
git remote add origin ../remote.git
git push -q origin main
git fetch -q origin
liza init 'Say hello' > /dev/null
git clone -q ../remote.git ../other
(cd ../other && git checkout -q main && echo more > more.txt && git add -A && git commit -qm More && git push -q origin main)
try liza sync --from origin/main
git cat-file -e integration:more.txt 2> /dev/null && mended "$out"
says 'everything|nothing' && defect "$out"
