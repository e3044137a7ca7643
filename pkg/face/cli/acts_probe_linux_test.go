package cli_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	probeWait    = 3 * time.Second
	probeRequest = "GET / HTTP/1.0\r\n\r\n"
)

// probe makes one system call or connection that no shell can make, and prints CANARY when it succeeds.
func init() { actProbe = probe }

func probe(args []string) int {
	if err := probing(args[0], args[1:]); err != nil {
		fmt.Println(args[0]+":", err)
		return 1
	}
	return 0
}

func probing(what string, args []string) error {
	switch what {
	case "tcp", "unix":
		return talk(what, args[0])
	case "abstract":
		return talk("unix", "@"+args[0])
	case "udp":
		return send(args[0], []byte("hello by udp"))
	case "dns":
		query := append([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, "\x06canary\x07example\x00\x00\x01\x00\x01"...)
		return send(args[1], query)
	case "mptcp":
		return mptcp(args[0])
	case "raw":
		return opened(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	case "packet":
		return opened(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0))
	case "vsock":
		return opened(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
	case "ptrace":
		pid, err := strconv.Atoi(args[0])
		if err == nil {
			err = unix.PtraceSeize(pid)
		}
		return opened(0, err)
	case "memory":
		id, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		shared, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		if err == nil {
			fmt.Println(string(shared[:len(canary)]))
		}
		return err
	case "serve":
		return serveOnce("tcp", "127.0.0.1:0")
	case "serve-unix":
		return serveOnce("unix", filepath.Join(os.TempDir(), "s"))
	case "proxy":
		return throughProxy(args[0])
	}
	return fmt.Errorf("nobody knows %s", what)
}

func opened(_ int, err error) error {
	if err == nil {
		fmt.Println(canary)
	}
	return err
}

func talk(network, address string) error {
	c, err := net.DialTimeout(network, address, probeWait)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(probeWait))
	io.WriteString(c, probeRequest)
	_, err = io.Copy(os.Stdout, c)
	return err
}

// serveOnce listens, and is a client of itself.
func serveOnce(network, address string) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.ReadFull(c, make([]byte, len(probeRequest)))
			io.WriteString(c, "served\n")
			c.Close()
		}
	}()
	return talk(network, l.Addr().String())
}

func send(address string, data []byte) error {
	c, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write(data)
	return err
}

func mptcp(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet4{Port: number}
	binary.BigEndian.PutUint32(to.Addr[:], binary.BigEndian.Uint32(net.ParseIP(host).To4()))
	return opened(0, unix.Connect(fd, to))
}

// throughProxy asks the run's proxy for an address and shows what a 200 brings.
func throughProxy(address string) error {
	proxy, err := url.Parse(os.Getenv("http_proxy"))
	if err != nil || proxy.Host == "" {
		return fmt.Errorf("there is no proxy")
	}
	c, err := net.DialTimeout("tcp", proxy.Host, probeWait)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(probeWait))
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", address, target.Host)
	answer := bufio.NewReader(c)
	status, err := answer.ReadString('\n')
	fmt.Print(status)
	if err != nil || len(status) < 12 || status[9:12] != "200" {
		return fmt.Errorf("the proxy does not let it through")
	}
	_, err = io.Copy(os.Stdout, answer)
	return err
}
