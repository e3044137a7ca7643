package sandbox

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// honest are the kinds of work that must go on inside, each by the program that it needs.
var honest = map[string]struct{ program, script string }{
	"git": {"git", `git init -q -b main . && git add . && git -c user.name=a -c user.email=a@b commit -qm one && echo x > new && git stash -qu && git stash pop -q &&
git checkout -qb other && git add . && git -c user.name=a -c user.email=a@b commit -qm two && git rebase -q main && git log --oneline | wc -l && git blame file && git gc -q`},
	"go": {"go", `export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off
cat > go.mod <<END
module x
go 1.25
END
cat > x.go <<END
package main
import ("fmt"; "net"; "os/exec")
func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil { panic(err) }
	go func() { c, _ := l.Accept(); c.Write([]byte("hi")); c.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil { panic(err) }
	var b [2]byte
	c.Read(b[:])
	out, err := exec.Command("echo", string(b[:])).Output()
	fmt.Print(string(out), err)
}
END
go run . && go vet .`},
	"node": {"node", `cat > x.js <<END
const http = require('http'), os = require('os'), fs = require('fs'), cp = require('child_process'), { Worker } = require('worker_threads');
os.networkInterfaces(); os.cpus(); fs.watch('.').close(); fs.mkdtempSync(os.tmpdir() + '/x');
new Worker('1', { eval: true });
const s = http.createServer((q, r) => r.end(cp.execSync('echo served'))).listen(0, 'localhost', () =>
  http.get({ port: s.address().port, host: 'localhost' }, r => r.on('data', d => { process.stdout.write(d); s.close(); })));
END
node x.js`},
	"python": {"python3", `python3 - <<END
import multiprocessing, pty, os, socket, subprocess, tempfile, threading
def f(x): return x * x
if __name__ == '__main__':
    with multiprocessing.Pool(2) as p: assert p.map(f, [1, 2, 3]) == [1, 4, 9]
    if os.environ['LEVEL'] == 'closed': # partial has no terminals
        m, s = pty.openpty(); os.write(s, b'x\n'); os.read(m, 2)
    if os.fork() == 0: os._exit(0)
    os.wait()
    a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
    u = socket.socket(socket.AF_UNIX); u.bind('sock'); u.listen()
    socket.socket(socket.AF_UNIX).connect('sock')
    with tempfile.NamedTemporaryFile() as t: t.write(b'x')
    assert subprocess.check_output(['sh', '-c', 'echo \$HOME']).strip()
    socket.getaddrinfo('localhost', 80)
END`},
	"make and a compiler": {"gcc", `printf 'x: x.c\n\tgcc -o x x.c\n' > Makefile; printf '#include <stdio.h>\nint main(void){puts("built");return 0;}' > x.c; make -s && ./x`},
	"a shell with jobs":   {"bash", `set -m; sleep 0.1 & wait; kill -0 $$; (ulimit -c 0); echo a | tee >(cat) > /dev/null; diff <(echo 1) <(echo 1); trap 'echo ended' EXIT; read x <<< here`},
}

func TestHonestWorkGoesOn(t *testing.T) {
	t.Parallel()
	for name, h := range honest {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := exec.LookPath("/usr/bin/" + h.program)
			if h.program == "go" {
				found, err = exec.LookPath("go")
			}
			if err != nil {
				t.Skipf("NOT RUN: no %s", h.program)
			}
			levels(t, func(t *testing.T, p place) {
				env := "export PATH=" + filepath.Dir(found) + ":$PATH"
				if h.program == "go" {
					if p.uid > 0 {
						t.Skip("NOT RUN: the cache of the compiler belongs to this user, and a build without one takes a minute")
					}
					cache, err := exec.Command("go", "env", "GOROOT", "GOCACHE").Output()
					if err != nil {
						t.Fatal(err)
					}
					dirs := strings.Fields(string(cache))
					p.spec.Tools, p.spec.Write = append(p.spec.Tools, dirs[0]), append(p.spec.Write, dirs[1])
					env += " GOCACHE=" + dirs[1]
				}
				p.spec.Limits = Limits{Processes: 500, Memory: 2 << 30, Files: 4096, File: 1 << 30}
				out, code := p.run("bash", "-c", "set -e; "+env+"\n"+h.script)
				if code != 0 {
					t.Errorf("exit code %d: %s", code, out)
				}
			})
		})
	}
}
