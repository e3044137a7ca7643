package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	urfave "github.com/urfave/cli/v3"

	"liza/pkg/face/dashboard"
)

func newProjects(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "projects", Category: "start", Usage: "list your projects, with what waits in each",
		Description: "Those that liza init or liza run have seen here; one whose folder is gone is forgotten. It starts nothing.\n" +
			"liza top --all and liza serve --all show the same list and open what you choose." +
			examples("liza projects", "liza projects --json") + exitsText(0, 1, 2),
		Action: env.do(func(ctx context.Context, _ []string) error {
			list, b := env.projects(ctx), strings.Builder{}
			for _, p := range list {
				fmt.Fprintln(&b, strings.Join(p.Lines(env.terminal().width()), "\n"))
			}
			if len(list) == 0 {
				b.WriteString("no project yet\nnext: liza init GOAL\n")
			}
			return env.Print(map[string]any{"projects": list}, "%s", b.String())
		}),
	}
}

// lookTime is how long the board of one project may keep the others waiting.
const lookTime = 2 * time.Second

// projects looks at all projects of this person.
func (e *Env) projects(ctx context.Context) []dashboard.Project {
	list := []dashboard.Project{}
	for _, root := range e.System.Projects() {
		p, err := e.projectAt(ctx, root)
		if err != nil {
			p = dashboard.Project{Root: root, Name: filepath.Base(root), Status: "cannot be shown: " + headline(explain(err).message)}
		}
		list = append(list, p)
	}
	return list
}

func (e *Env) projectAt(ctx context.Context, root string) (dashboard.Project, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	system := e.System.In(root)
	defer system.Close()
	d, err := system.Reader(ctx)
	if err != nil {
		return dashboard.Project{}, err
	}
	v, err := sourceOf(d).View(ctx)
	return dashboard.ProjectOf(root, v), err
}

// runAll lists the projects until the person leaves; what is chosen is opened, and its end leads back.
func (o *topOptions) runAll(ctx context.Context) error {
	if !o.env.Terminal || !o.env.StdinTerminal || o.env.JSON {
		return usagef("liza projects", "liza top needs a terminal")
	}
	menu := projectMenu{look: func() []dashboard.Project { return o.env.projects(ctx) }}
	for {
		menu.chosen = ""
		last, err := tea.NewProgram(menu, tea.WithContext(ctx), tea.WithInput(o.env.System.Stdin), tea.WithOutput(o.env.direct.out), tea.WithEnvironment(o.env.System.Environ), tea.WithoutSignalHandler()).Run()
		switch menu, _ = last.(projectMenu); {
		case ctx.Err() != nil:
			return &errDone{130}
		case err != nil:
			return fmt.Errorf("cannot show the projects on this terminal: %w", err)
		case menu.chosen == "":
			return nil
		}
		system := o.env.System.In(menu.chosen)
		err = o.run(ctx, system)
		system.Close()
		if err != nil {
			return err
		}
	}
}

// A projectMenu is the list of projects on the whole terminal.
type projectMenu struct {
	look          func() []dashboard.Project
	list          []dashboard.Project
	at            int
	width, height int
	chosen        string // the folder to open
	read          bool
}

type projectsRead []dashboard.Project

func (m projectMenu) reads() tea.Msg { return projectsRead(m.look()) }

// Init reads the projects.
func (m projectMenu) Init() tea.Cmd { return m.reads }

// Update follows keys, the size of the terminal, and the projects every second.
func (m projectMenu) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch x := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = x.Width, x.Height
	case projectsRead:
		m.list, m.read = x, true
		return m, tea.Tick(time.Second, func(time.Time) tea.Msg { return m.reads() })
	case tea.KeyPressMsg:
		switch x.String() {
		case "q", "esc", "ctrl+c":
			return m, tea.Quit
		case "down", "j":
			m.at++
		case "up", "k":
			m.at--
		case "enter":
			if m.at < len(m.list) {
				m.chosen = m.list[m.at].Root
				return m, tea.Quit
			}
		}
	}
	m.at = max(0, min(m.at, len(m.list)-1))
	return m, nil
}

// View draws as many projects as fit, with the chosen one among them.
func (m projectMenu) View() tea.View {
	lines, end := []string{dashboard.Fit(fmt.Sprintf(" liza  %d projects", len(m.list)), m.width), ""}, 0
	if !m.read {
		lines[0] = " liza  reading the boards …"
	}
	for i, p := range m.list {
		for n, l := range p.Lines(max(1, m.width-3)) {
			mark := "   "
			if n == 0 && i == m.at {
				mark = " ▸ "
			}
			lines = append(lines, mark+l)
		}
		lines = append(lines, "")
		if i == m.at {
			end = len(lines)
		}
	}
	room := max(1, m.height-1)
	from := max(0, end-room)
	lines = lines[from:min(len(lines), from+room)]
	for len(lines) < room {
		lines = append(lines, "")
	}
	return tea.View{AltScreen: true, WindowTitle: "liza projects", Content: strings.Join(append(lines, dashboard.Fit(" ↑ ↓ choose · enter opens · q ends", m.width)), "\n")}
}
