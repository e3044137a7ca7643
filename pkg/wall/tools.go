package wall

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"liza/pkg/broker"
	"liza/pkg/config"
	"liza/pkg/proxy"
	"liza/pkg/sandbox"
	"liza/pkg/toolchain"
)

// toolchains shows the programs of the person that are outside of /usr, and gives them caches of the project's own.
func (w *Wall) toolchains(r Run, s config.Sandbox) error {
	use := toolchain.Use{Root: r.Dir, Cache: w.maker.Project.Cache(), Registries: r.Registries || s.Allow.Registries}
	if w.Level == sandbox.Closed {
		use.Proxy = sandbox.ForwardAddress
	}
	a := toolchain.In(toolchain.On(w.maker.Home, w.maker.Environ), use)
	for _, dir := range a.Caches {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	w.Spec.Tools, w.Spec.Read, w.Spec.Write = append(w.Spec.Tools, a.Tools...), append(w.Spec.Read, a.Read...), append(w.Spec.Write, a.Caches...)
	w.set, w.allow = a.Env, append(w.allow, a.Pass...)
	w.registries = toolchain.Registries()
	if use.Registries {
		w.Hosts = append(w.Hosts, a.Hosts...)
	}
	return nil
}

// network starts the proxy of the run. At the other levels programs have the network of the machine.
func (w *Wall) network(r Run, s config.Sandbox) error {
	w.Hosts = slices.Concat(w.Hosts, w.access.Hosts, s.Allow.Hosts)
	if w.Level != sandbox.Closed {
		return nil
	}
	folder := &broker.Folder{Path: r.Sockets}
	if r.Sockets == "" {
		var err error
		if folder, err = broker.MakeFolder(w.maker.Base, w.maker.Project.Root, "wall "+r.Name); err != nil {
			return err
		}
		w.close = append(w.close, func() error { return errors.Join(folder.Listener.Close(), folder.Remove()) })
		w.Spec.Read = append(w.Spec.Read, folder.Path)
	}
	options := proxy.Options{Hosts: w.Hosts, Quiet: w.access.Quiet, Registries: w.registries}
	if r.Refused != nil {
		options.Refused = func(refused proxy.Refusal) {
			if !refused.Quiet {
				r.Refused(refused)
			}
		}
	}
	const name = "proxy.sock"
	w.Spec.Proxy, w.Spec.Local = filepath.Join(folder.Path, name), proxy.Local(w.Hosts)
	listener, err := folder.Listen(name)
	if err != nil {
		return err
	}
	server, err := proxy.Serve(listener, options)
	if err == nil {
		w.close = append(w.close, server.Close)
	}
	return err
}
