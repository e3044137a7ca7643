package agent

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A keeping is what a reaper keeps of its run, so that another supervisor can go on where one was killed: what the program printed,
// the write end of its stdin, the files of the supervisor, and its facts.
type keeping struct {
	began   time.Time
	input   chan []byte // what the program gets on its stdin, until it is closed
	given   atomic.Bool // its prompt has come
	shut    atomic.Bool // nothing more comes
	sent    []string    // the marks of what came, without answers
	replied int         // and how many answers came
	streams [2]*stream
	files   []int // of the supervisor
	came    chan *successor
	settled time.Time // until then a successor has had no time to make itself known
}

// keptHalf is how many bytes of a stream are kept at least; of more output the end is kept, up to twice as much.
const keptHalf = 16 << 20

// settling is how long a run that has a new supervisor is nobody else's, also when the board does not know it yet.
const settling = time.Minute

// keep makes the streams of the program, which the reaper passes on. theirs are stdin, stdout and stderr of the program.
func (r *reaping) keep() (theirs [3]int, err error) {
	k := &keeping{began: time.Now(), input: make(chan []byte, 256), came: make(chan *successor)}
	var in [2]int
	k.given.Store(!r.order.Stdin)
	if k.shut.Store(!r.order.Stdin); r.order.Stdin {
		if err := unix.Pipe2(in[:], unix.O_CLOEXEC); err != nil {
			return theirs, err
		}
		theirs[0] = in[0]
		go feed(in[1], k.input)
	}
	for i := range k.streams {
		var out [2]int
		if err := unix.Pipe2(out[:], unix.O_CLOEXEC); err != nil {
			return theirs, err
		}
		to, err := unix.FcntlInt(uintptr(i+1), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return theirs, err
		}
		k.streams[i], theirs[i+1] = &stream{from: out[0], to: to, over: make(chan struct{})}, out[1]
	}
	for i := range r.order.Kept {
		fd := controlFD + 1 + r.order.Files + i
		unix.CloseOnExec(fd)
		k.files = append(k.files, fd)
	}
	r.kept = k
	return theirs, nil
}

// feed writes what comes to the program's stdin.
func feed(fd int, input <-chan []byte) {
	for data := range input {
		if _, err := writeAll(fd, data); err != nil { // a program may end, or close its input, without reading all of it
			break
		}
	}
	_ = unix.Close(fd)
}

// hand gives the program an input, without waiting for it: the input of one that reads nothing is over. more is false for the last one.
func (k *keeping) hand(data []byte, mark string, more bool) {
	k.given.Store(true)
	if len(data) > 0 {
		select {
		case k.input <- data:
			k.note(mark)
		default:
			more = false
		}
	}
	if !more {
		k.shut.Store(true)
		close(k.input)
	}
}

func writeAll(fd int, data []byte) (n int, err error) {
	for n < len(data) && (err == nil || err == unix.EINTR) {
		var more int
		more, err = unix.Write(fd, data[n:])
		n += max(more, 0)
	}
	return n, err
}

// A stream is what a program prints on one of its streams, on its way to the supervisor.
type stream struct {
	from int
	over chan struct{} // closed when the program's end is

	mu      sync.Mutex
	to      int    // of the supervisor; -1: there is none
	kept    [2]int // memory files, the older one first; 0: none yet
	size    [2]int64
	dropped int64 // how much there was before them
	at      int64 // up to where the supervisor was given the stream
	told    int64 // up to where one has read it
	ended   bool
}

// pass reads the stream to its end.
func (s *stream) pass() {
	defer close(s.over)
	chunk := make([]byte, 64<<10)
	for {
		n, err := unix.Read(s.from, chunk)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			break
		}
		s.mu.Lock()
		s.add(chunk[:n])
		if s.to >= 0 {
			s.give(chunk[:n])
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; s.to >= 0 {
		_ = unix.Close(s.to) // what is in the pipe can still be read
	}
}

// give hands data to the supervisor, and reports whether it is there.
func (s *stream) give(data []byte) bool {
	n, err := writeAll(s.to, data)
	s.at += int64(n)
	if err != nil {
		s.release()
	}
	return err == nil
}

// add keeps data. Memory that cannot be had is output that a successor does not see.
func (s *stream) add(data []byte) {
	if s.kept[1] == 0 || s.size[1]+int64(len(data)) > keptHalf {
		next, err := unix.MemfdCreate("liza-output", unix.MFD_CLOEXEC)
		if err != nil {
			return
		}
		if s.dropped += s.size[0]; s.kept[0] != 0 {
			_ = unix.Close(s.kept[0])
		}
		s.kept[0], s.size[0], s.kept[1], s.size[1] = s.kept[1], s.size[1], next, 0
	}
	n, _ := writeAll(s.kept[1], data)
	s.size[1] += int64(n)
}

// release drops the end of a supervisor that is gone, and notes what it has not read.
func (s *stream) release() {
	if s.to < 0 {
		return
	}
	unread, err := unix.IoctlGetInt(s.to, unix.TIOCINQ)
	if err != nil {
		unread = 0
	}
	s.told = max(s.told, s.at-int64(unread))
	if !s.ended {
		_ = unix.Close(s.to)
	}
	s.to = -1
}

// leave ends the use by the supervisor before. It returns how many bytes are kept, and how many of them were told already.
func (s *stream) leave() (kept, told int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release()
	return s.size[0] + s.size[1], max(0, s.told-s.dropped)
}

// replay gives a successor the stream from its beginning, as far as it is kept.
func (s *stream) replay(to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to, s.at = to, s.dropped
	chunk := make([]byte, 64<<10)
	for i, fd := range s.kept {
		for off := int64(0); off < s.size[i]; {
			n, err := unix.Pread(fd, chunk, off)
			if n <= 0 || err != nil || !s.give(chunk[:n]) {
				return
			}
			off += int64(n)
		}
	}
	if s.ended {
		_ = unix.Close(s.to)
	}
}

// A successor is a supervisor that asks for the run.
type successor struct {
	control *os.File
	orders  *json.Decoder
}

// hear takes those who connect to the socket: successors, and those who ask for a port inside.
func (r *reaping) hear(socket int) {
	_ = unix.SetNonblock(socket, false)
	for {
		fd, _, err := unix.Accept4(socket, unix.SOCK_CLOEXEC)
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err != nil {
			return
		}
		go func() {
			control := os.NewFile(uintptr(fd), "successor")
			s := &successor{control, json.NewDecoder(control)}
			var o order
			switch {
			case !maySucceed(fd) || s.orders.Decode(&o) != nil: // one who looks whether somebody listens says nothing
			case o.Adopt && r.kept != nil:
				r.kept.came <- s
				return
			case o.Port != nil:
				r.door.ask(*o.Port, control)
			}
			_ = control.Close()
		}()
	}
}

// A door leads to the launcher inside a wrapper, which alone can connect to the ports there.
type door struct {
	asking sync.Mutex
	fd     int // 0: there is none, or it does not answer
}

// doorWait is how many seconds the launcher may take to answer.
const doorWait = 5

// ask passes a request on, and the answer back to who asks.
func (d *door) ask(port int, to *os.File) {
	d.asking.Lock()
	defer d.asking.Unlock()
	if d.fd == 0 {
		return
	}
	limit := unix.Timeval{Sec: doorWait}
	_ = unix.SetsockoptTimeval(d.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
	answer, rights := make([]byte, 1<<10), make([]byte, unix.CmsgSpace(4))
	_, err := unix.Write(d.fd, strconv.AppendInt(nil, int64(port), 10))
	n, with := 0, 0
	for err == nil {
		if n, with, _, _, err = unix.Recvmsg(d.fd, answer, rights, unix.MSG_CMSG_CLOEXEC); err != unix.EINTR {
			break
		}
		err = nil
	}
	if err != nil || n == 0 { // what comes later would be taken for the next answer
		_ = unix.Close(d.fd)
		d.fd = 0
		return
	}
	_ = unix.Sendmsg(int(to.Fd()), answer[:n], rights[:with], nil, unix.MSG_NOSIGNAL)
	files, _ := received(rights[:with])
	closeAll(files...)
}

// maySucceed reports whether the process at the other end may have the run: it is of the same user, it lives, and it is not a part of a run
// itself. A part of a run may connect, end, and leave the connection to a child: nothing is known of a process that has ended.
func maySucceed(fd int) bool {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(peer.Uid) != os.Geteuid() || peer.Pid <= 0 {
		return false
	}
	self, err := peerProcess(fd, int(peer.Pid))
	if err != nil {
		return false
	}
	defer unix.Close(self)
	return outside(int(peer.Pid)) && living(self) // so the number was that of the process all the time
}

// peerProcess is a descriptor of the process that has connected. A kernel before 6.5 has it by its number alone.
func peerProcess(socket, pid int) (int, error) {
	fd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err == unix.ENOPROTOOPT {
		return unix.PidfdOpen(pid, 0)
	}
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}

// living reports whether the process of a descriptor has not ended.
func living(process int) bool {
	ended := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(ended, 0)
		if err != unix.EINTR {
			return err == nil && n == 0
		}
	}
}

// outside reports whether a living process is below no reaper but those that are above us, too. Where the way up cannot be followed, the
// process counts as inside.
func outside(peer int) bool {
	ours := Ancestors(os.Getpid())
	pid := peer
	for range mostLooks {
		if slices.ContainsFunc(ours, func(o Process) bool { return o.Pid == pid }) {
			return true
		}
		if pid == os.Getpid() || isReaper(pid) {
			return false
		}
		e, ok := lookup(pid)
		switch {
		case !ok && pid == peer:
			return false
		case !ok: // it has just ended, and its children have another parent
			pid = peer
			continue
		case e.parent == 0:
			return e.Start != 0
		}
		if _, ok := lookup(e.parent); !ok {
			if again, ok := lookup(pid); ok && again.parent == e.parent { // a parent of another user, which the system hides
				return true
			}
			continue
		}
		pid = e.parent
	}
	return false
}

// mostLooks is more than processes are below one another.
const mostLooks = 1000

func isReaper(pid int) bool {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name)) == reaperName
}

// take gives the run to a successor, or says that another one has it.
func (r *reaping) take(s *successor) {
	k := r.kept
	refuse := func(n note) {
		_ = unix.Sendmsg(int(s.control.Fd()), []byte{'\n'}, nil, nil, unix.MSG_NOSIGNAL)
		_ = json.NewEncoder(s.control).Encode(n)
		_ = s.control.Close()
	}
	if r.held {
		refuse(note{Held: true, Settling: time.Now().Before(k.settled)})
		return
	}
	hands := []int{}
	var outs [2]int
	var behind, again [2]int64
	for i, stream := range k.streams {
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			refuse(note{})
			return
		}
		defer unix.Close(pipe[0])
		hands, outs[i] = append(hands, pipe[0]), pipe[1]
		behind[i], again[i] = stream.leave()
	}
	hands = append(hands, k.files[1:]...)
	n := note{Pid: r.program, Start: r.began, Over: r.last != nil, Reaper: os.Getpid(), Run: r.order.Run, Groups: r.order.Groups, Facts: r.order.Facts, Began: k.began, Behind: behind, Again: again, Given: k.given.Load(), Open: k.given.Load() && !k.shut.Load(), Sent: k.sent, Replied: k.replied, Exited: r.ended}
	if unix.Sendmsg(int(s.control.Fd()), []byte{'\n'}, unix.UnixRights(hands...), nil, unix.MSG_NOSIGNAL) != nil {
		_ = s.control.Close()
		for _, fd := range outs {
			_ = unix.Close(fd)
		}
		return
	}
	r.control, r.held, r.late, k.settled = s.control, true, nil, time.Now().Add(settling)
	r.say(n)
	for i, stream := range k.streams {
		go stream.replay(outs[i])
	}
	go r.heed(s.control, s.orders)
}

// note keeps the mark of what the program gets. A supervisor is over when the next one asks for them.
func (k *keeping) note(mark string) {
	switch {
	case mark == replyMark:
		k.replied++
	case mark != "" && len(k.sent) < mostSent:
		k.sent = append(k.sent, mark)
	}
}

// mostSent is how many marks are kept: a person says less in a run.
const mostSent = 4096

// drain waits for what the program has printed, when everything that could print has ended.
func (k *keeping) drain() {
	late := time.After(drainWait)
	for _, s := range k.streams {
		select {
		case <-s.over:
		case <-late:
			return
		}
	}
}
