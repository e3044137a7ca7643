package broker

import (
	"context"
	"os/exec"
	"testing"
)

// The socket of a server that another process has, too, is closed without anybody who calls.
func TestAServerWhoseSocketIsPassedOnEnds(t *testing.T) {
	t.Parallel()
	f, err := MakeFolder(short(t), t.Name(), "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := FileOf(f.Listener)
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(f.Listener, nil, nil)
	cmd := exec.Command("cat")
	cmd.ExtraFiles = append(cmd.ExtraFiles, socket)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !s.Close() {
		t.Error("it does not end")
	}
	again, err := Adopt(f.Path, socket)
	if err != nil {
		t.Fatal(err)
	}
	s = Serve(again.Listener, func(context.Context, *Call) int { return 3 }, nil)
	if code, _, _, err := call(t, f.Path+"/"+Socket, "", "status"); code != 3 || err != nil {
		t.Errorf("the one that adopts it answers %d, %v", code, err)
	}
	s.Close()
	in.Close()
	_ = cmd.Wait()
}
