package wall

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/code/project"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/service"
)

// A serving is what a run needs for its services: it is in the private folder of the run, but for the sockets, whose paths have to be short.
type serving struct {
	order  service.Order
	env    []string          // that programs get
	names  map[string]string // of the folders of Data; nil: the run does not fill one
	folder string            // of logs and of data
}

const (
	defaultReady = 60 * time.Second
	maxKept      = 1 << 20 // bytes of the end of what a service has printed
	nobody       = 65534   // whom servers see themselves as where they would be root, which PostgreSQL refuses
)

// serves reports whether a run has services, or fills the data folder of one.
func (m *Maker) serves(u Use) bool {
	return u.Services && len(m.Config().Services) > 0 || u.Fills != ""
}

// openServices makes the folders of the services of a run. Those with data get a copy of their template.
func (w *Wall) openServices(ctx context.Context, u Use) error {
	s := &w.serving
	s.folder, s.order.Run = filepath.Join(w.run.Private, "services"), filepath.Join(w.run.Folder, "run")
	s.order.Logs = s.folder
	for _, folder := range []string{s.folder, filepath.Join(s.folder, "data"), s.order.Run} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
	}
	if isContained(w.Spec.Level) {
		w.Spec.Write = append(w.Spec.Write, s.folder, s.order.Run)
	}
	if w.Spec.Level == sandbox.Closed && os.Getuid() == 0 {
		w.Spec.User = nobody
	}
	all := w.maker.Config().Services
	if u.Fills != "" {
		s.names = map[string]string{"DATA": u.Data, "RUN": s.order.Run, "TREE": u.Dir}
		w.setEnv(all[u.Fills], s.names)
		s.env = append(s.env, "DATA="+u.Data, "RUN="+s.order.Run)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		server := w.server(name, all[name], u.Dir)
		if err := w.fillData(ctx, name, u.DataOf, all[name], server.Data); err != nil {
			return err
		}
		s.order.Servers = append(s.order.Servers, server)
	}
	w.keepServices(u)
	return nil
}

// fillData copies the template of a service. One that is removed in this moment is made again, once.
func (w *Wall) fillData(ctx context.Context, name, commit string, s config.Service, to string) error {
	if len(s.Init) == 0 {
		return os.Mkdir(to, 0o700)
	}
	for range 2 {
		template, err := w.maker.Template(ctx, name, commit)
		if err != nil {
			return err
		}
		_, err = safefile.CloneTree(ctx, template, filepath.Dir(to), name, safefile.Cloning{})
		if _, gone := os.Lstat(template); gone == nil {
			return err
		}
		if err := safefile.RemoveTree(to); err != nil {
			return err
		}
	}
	return fmt.Errorf("cannot copy the data of the service %s: it was removed twice", name)
}

// socketForm finds the sockets that a service is told to open.
var socketForm = regexp.MustCompile(`\$(?:RUN|\{RUN\})/([A-Za-z0-9._-]+)`)

// server is a service of the settings with its names resolved.
func (w *Wall) server(name string, c config.Service, tree string) service.Server {
	s := &w.serving
	out := service.Server{Name: name, Data: filepath.Join(s.folder, "data", name), Wait: cmp.Or(time.Duration(c.ReadySeconds)*time.Second, defaultReady)}
	names := map[string]string{"DATA": out.Data, "RUN": s.order.Run, "TREE": tree}
	out.Command, out.Ready = programIn(tree, resolved(c.Command, names)), programIn(tree, resolved(c.Ready, names))
	w.setEnv(c, names)
	for _, word := range slices.AppendSeq(slices.Clone(c.Command), maps.Values(c.Env)) {
		for _, found := range socketForm.FindAllStringSubmatch(word, -1) {
			if at := filepath.Join(s.order.Run, found[1]); !slices.Contains(out.Sockets, at) {
				out.Sockets = append(out.Sockets, at)
			}
		}
	}
	return out
}

func (w *Wall) setEnv(c config.Service, names map[string]string) {
	for _, variable := range slices.Sorted(maps.Keys(c.Env)) {
		value, _ := config.Resolve(c.Env[variable], names)
		w.serving.env = append(w.serving.env, variable+"="+value)
	}
}

// programIn is a command whose program is found from the worktree, where its name has a slash.
func programIn(tree string, argv []string) []string {
	if len(argv) > 0 && strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(tree, argv[0])
	}
	return argv
}

func resolved(words []string, names map[string]string) (out []string) {
	for _, word := range words {
		text, _ := config.Resolve(word, names) // that there are no others was checked when they were read
		out = append(out, text)
	}
	return out
}

// keepServices passes what services have printed on before the private folder is removed.
func (w *Wall) keepServices(u Use) {
	if !w.maker.serves(u) || u.Fills != "" {
		return
	}
	logs := filepath.Join(w.run.Private, "services")
	w.serving.folder = logs
	w.close = append(w.close, func() error {
		for _, name := range slices.Sorted(maps.Keys(w.maker.Config().Services)) {
			if end := endOfLog(logs, name); len(end) > 0 && u.Printed != nil {
				u.Printed(name, end)
			}
		}
		return nil
	})
}

// endOfLog reads the last bytes of the log of a service, from the beginning of a line on.
func endOfLog(logs, name string) []byte {
	f, err := safefile.OpenWithin(logs, service.LogOf(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-maxKept)
	data, _ := io.ReadAll(io.NewSectionReader(f, from, maxKept))
	if i := slices.Index(data, '\n'); from > 0 && i >= 0 {
		data = data[i+1:]
	}
	return data
}

// PrintedNow is the end of what a service of an agent's run under way has printed.
func PrintedNow(p *project.Project, agent, name string) []byte {
	return endOfLog(filepath.Join(p.Tmp(), privatePrefix+agent, "services"), name)
}

// ServiceFailure is why the services of the run were not ready, with the last lines of the one that was not; "": they were.
func (w *Wall) ServiceFailure() (why string, tail []string) {
	if w == nil || w.serving.folder == "" {
		return "", nil
	}
	return service.Failure(w.serving.folder)
}

// attended puts the services of the run beside its program.
func (w *Wall) attended(path string, argv, env []string) (string, []string, []string, error) {
	s := w.serving
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.ContainsFunc(s.env, func(other string) bool { return strings.HasPrefix(other, name+"=") })
	})
	env = append(env, s.env...)
	if s.names != nil {
		return programIn(s.names["TREE"], []string{path})[0], resolved(argv, s.names), env, nil
	}
	if len(s.order.Servers) == 0 {
		return path, argv, env, nil
	}
	s.order.Path = path
	launcher := cmp.Or(w.run.Spawn, w.run.Liza)
	argv, err := s.order.Command(launcher, argv)
	return launcher, argv, env, err
}

func isContained(level sandbox.Level) bool {
	return level == sandbox.Closed || level == sandbox.Partial
}
