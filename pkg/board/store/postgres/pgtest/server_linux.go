package pgtest

import "syscall"

// endWithUs has the server end when the tests are killed.
func endWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
