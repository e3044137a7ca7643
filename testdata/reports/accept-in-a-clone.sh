# Reported: liza sync --accept in a clone said "cannot lock".
. "${0%/*}/lib.sh" || exit 3
keep
liza init 'Say hello' > /dev/null
git clone -q . ../clone
cp -r .liza ../clone/.liza
cd ../clone
git branch -q integration origin/integration
echo more > more.txt
keep More
git branch -f integration HEAD
try liza sync --accept --reason 'I have made this commit myself'
says 'cannot lock' && defect "$out"
[ $code = 0 ] && mended "$out"
