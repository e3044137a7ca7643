// Package tui is the view of a project on a whole terminal (`liza top`): a Model that follows the
// board, draws it, and does what a person asks for.
//
// Everything that it shows comes from a Source, everything that it does is a method of Verbs; it has
// no rules of its own. Update takes a model and a message and gives the next model, and commands for
// what has to be read or done outside of it; View draws what fits the terminal and nothing else, so
// that a board of thousands of tasks costs what is visible.
//
// The panes are in panes.go, the large ones in files of their own. Keys are lines of one table (keys.go): the handler, the foot line
// and the help read it.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
	"liza/pkg/team/watch"
	session "liza/pkg/verb/board"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// Model is the view at a moment. Update gives the next one.
type Model struct {
	o   Options
	ctx context.Context

	width, height int
	theme         theme
	sight

	readAt  time.Time // when the reading of view began
	problem *Problem  // with the board: what is shown is the last valid one
	tasks   taskRows  // of the board pane

	pane    kind    // below what is open
	open    []place // what has been opened, the newest last
	scrolls map[place]scroll
	follow  bool // output stays at its end
	ask     *ask // what the person is being asked
	acting  int  // acts under way
	said    said

	busy map[want]bool
	laid map[place]laid // texts, laid out as they were drawn last

	interrupted bool
}

// A sight is what has been read, as panes show it.
type sight struct {
	read    bool // a board has been read
	view    dashboard.View
	now     time.Time
	at      time.Time // when the view was made
	doneAt  time.Time // when what agents do was read
	got     map[want]got
	filters [panes]string
	mask    func(string) string
	explain func(error) Problem
}

// said is what the last act did, or why it did not.
type said struct {
	text, next string
	failed     bool
}

// Messages.
type (
	boardMsg struct {
		readAt  time.Time
		view    dashboard.View
		problem *Problem
	}
	tickMsg  time.Time
	doingMsg map[string]dashboard.Doing
	gotMsg   struct {
		want want
		got  got
	}
	moreMsg    want // look for more output
	saidMsg    said
	outsideMsg said // another program had the terminal
)

// New is the view before it has read anything.
func New(ctx context.Context, o Options) Model {
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	if o.later == nil {
		o.later = tea.Tick
	}
	return Model{o: o, ctx: ctx, theme: newTheme(ownColours), follow: true, scrolls: map[place]scroll{}, busy: map[want]bool{}, laid: map[place]laid{},
		sight: sight{now: o.Now(), got: map[want]got{}, mask: o.Mask, explain: o.Explain}}
}

// Init reads the board and begins to follow it.
func (m Model) Init() tea.Cmd {
	return tea.Batch(m.reader().readBoard, m.reader().waitFor(m.o.Source.Watch(m.ctx)), m.reader().tick(), tea.RequestBackgroundColor)
}

func (r reader) readBoard() tea.Msg {
	readAt := r.now()
	v, err := r.source.View(r.ctx)
	msg := boardMsg{readAt: readAt, view: v}
	if err != nil {
		p := r.explain(err)
		msg.problem = &p
	}
	return msg
}

// watching is a change together with where the next ones come from.
type watching struct{ changes <-chan struct{} }

func (r reader) waitFor(changes <-chan struct{}) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-r.ctx.Done():
			return nil
		case <-changes:
			return watching{changes}
		}
	}
}

// tick is for elapsed times, and for what agents do: that is not on the board.
func (r reader) tick() tea.Cmd {
	return r.later(time.Second, func(time.Time) tea.Msg { return tickMsg(r.now()) })
}

func (r reader) readDoing() tea.Msg { return doingMsg(r.source.Doing(r.ctx)) }

// Update takes a message.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := m.update(msg)
	more := m.fetch()
	return m, tea.Batch(cmd, more)
}

func (m Model) update(msg tea.Msg) (Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m.settled(), nil
	case tea.BackgroundColorMsg:
		m.theme = themeFor(msg.IsDark())
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content), nil
	case tea.MouseClickMsg:
		return m.click(msg.Mouse())
	case tea.MouseWheelMsg:
		return m.wheel(msg.Mouse()), nil
	case watching:
		return m, tea.Batch(m.reader().readBoard, m.reader().waitFor(msg.changes))
	case boardMsg:
		return m.board(msg), nil
	case tickMsg:
		m.now = time.Time(msg)
		again := m.reader().tick()
		for _, w := range m.besides() {
			m.busy = with(m.busy, w)
			again = tea.Batch(again, m.load(w))
		}
		if len(m.view.Hosts) > 0 && m.now.Unix()%boardEvery == 0 {
			again = tea.Batch(again, m.reader().readBoard)
		}
		return m, tea.Batch(again, m.reader().readDoing)
	case doingMsg:
		return m.doing(msg), nil
	case gotMsg:
		return m.take(msg)
	case moreMsg:
		if slices.Contains(m.wants(), want(msg)) {
			return m, m.load(want(msg))
		}
		m.busy = without(m.busy, want(msg))
	case outsideMsg:
		m.said = said(msg)
	case saidMsg:
		m.acting--
		m.said = said(msg)
		return m, m.reader().readBoard
	}
	return m, nil
}

// board takes a new board. A damaged one is shown as it was when it was whole.
func (m Model) board(msg boardMsg) Model {
	if msg.readAt.Before(m.readAt) {
		return m // two reads ran side by side, and the older one ended last
	}
	m.readAt, m.problem = msg.readAt, msg.problem
	if msg.problem != nil && msg.view.At.None() {
		return m
	}
	m.read, m.at, m.doneAt, m.now = true, m.o.Now(), m.o.Now(), m.o.Now()
	m.view = msg.view
	m.tasks = rowsOf(m.view.Tasks, m.filters[board])
	return m.settled()
}

// doing takes what agents do now.
func (m Model) doing(now doingMsg) Model {
	if now == nil { // there is no board
		return m
	}
	m.view.Agents = slices.Clone(m.view.Agents)
	for i := range m.view.Agents {
		if d, ok := now[m.view.Agents[i].ID]; ok {
			m.view.Agents[i].Doing = &d
		} else {
			m.view.Agents[i].Doing = nil
		}
	}
	m.doneAt = m.now
	return m
}

// settled has every cursor on a row that is there.
func (m Model) settled() Model {
	scrolls := maps.Clone(m.scrolls)
	for _, b := range m.layout() {
		scrolls[b.place] = scrolls[b.place].settle(m.content(b.place, b.w), b.rows())
		if b.place.kind == outputPage && m.follow {
			scrolls[b.place] = scrolls[b.place].move(m.content(b.place, b.w), 1<<30, b.rows())
		}
	}
	m.scrolls = scrolls
	return m
}

func (m Model) withScroll(p place, s scroll) Model {
	m.scrolls = maps.Clone(m.scrolls)
	m.scrolls[p] = s
	return m
}

// fetch asks for what the screen needs and has not, or has of an older board.
func (m *Model) fetch() tea.Cmd {
	if !m.read {
		return nil
	}
	var cmds []tea.Cmd
	for _, w := range m.wants() {
		if have, ok := m.got[w]; m.busy[w] || ok && (have.rev == m.view.Revision || w.kind == outputPage) {
			continue
		}
		m.busy = with(m.busy, w)
		cmds = append(cmds, m.load(w))
	}
	return tea.Batch(cmds...)
}

// outputs are the events of a run, as far as they have been read.
type outputs struct {
	events []activity.Event
	next   int64
}

// A reader reads the project for the view.
type reader struct {
	ctx     context.Context
	source  Source
	now     func() time.Time
	explain func(error) Problem
	later   func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
}

func (m Model) reader() reader { return reader{m.ctx, m.o.Source, m.o.Now, m.o.Explain, m.o.later} }

// load reads what is wanted, beside the newest board.
func (m Model) load(w want) tea.Cmd {
	before, _ := m.got[w].value.(outputs)
	return m.reader().load(w, m.view.Revision, before)
}

// load reads one thing.
func (r reader) load(w want, rev int, before outputs) tea.Cmd {
	source, ctx := r.source, r.ctx
	return func() tea.Msg {
		g := got{rev: rev}
		switch w.kind {
		case taskPage:
			g.value, g.err = source.Task(ctx, w.name)
		case diffPage:
			var d *dashboard.Diff
			if d, g.err = source.Diff(ctx, w.name); g.err == nil {
				g.value = diffRowsOf(d)
			}
		case outputPage:
			events, next, err := source.Output(w.name, before.next)
			g.value, g.err = outputs{events, next}, err
		case journal:
			g.value, g.err = source.Log(history.Filter{Last: logEntries})
		case alerts:
			g.value, g.err = source.Alerts()
		}
		return gotMsg{w, g}
	}
}

// besides is what has to be read again now because the board does not tell that it changes: alerts, and what running tasks change.
func (m Model) besides() []want {
	if !m.read || m.now.Unix()%besidesEvery != 0 {
		return nil
	}
	list := []want{{kind: alerts}}
	for _, w := range m.wants() {
		if t := m.task(w.name); w.kind == diffPage && t != nil && t.Status == blackboard.Claimed {
			list = append(list, w)
		}
	}
	return slices.DeleteFunc(list, func(w want) bool { return m.busy[w] })
}

// How often output is looked at while it is shown, and how much of it is kept; how often is read what the board does not tell, in
// seconds, and a board that has hosts: a lost connection to its database tells nothing.
const (
	besidesEvery = 3
	boardEvery   = 5
	outputEvery  = 300 * time.Millisecond
	maxEvents    = 2000
)

// take keeps what has been read, and forgets what nobody looks at.
func (m Model) take(msg gotMsg) (Model, tea.Cmd) {
	var again tea.Cmd
	wanted := m.wants()
	if msg.want.kind == outputPage {
		msg.got = m.addOutput(msg)
		again = m.o.later(outputEvery, func(time.Time) tea.Msg { return moreMsg(msg.want) })
	} else {
		m.busy = without(m.busy, msg.want)
	}
	all := maps.Clone(m.got)
	if len(all) > 20 {
		maps.DeleteFunc(all, func(w want, _ got) bool { return !slices.Contains(wanted, w) })
	}
	msg.got.seq = all[msg.want].seq + 1
	all[msg.want] = msg.got
	m.got = all
	return m.settled(), again
}

func (m Model) addOutput(msg gotMsg) got {
	before, _ := m.got[msg.want].value.(outputs)
	now := msg.got.value.(outputs)
	if msg.got.err != nil || now.next < before.next { // a new run: its file begins again
		return msg.got
	}
	now.events = slices.Concat(before.events, now.events)
	now.events = now.events[max(0, len(now.events)-maxEvents):]
	msg.got.value = now
	return msg.got
}

func with(busy map[want]bool, w want) map[want]bool {
	busy = maps.Clone(busy)
	busy[w] = true
	return busy
}

func without(busy map[want]bool, w want) map[want]bool {
	busy = maps.Clone(busy)
	delete(busy, w)
	return busy
}

// of is what has been read of a want, the zero value when nothing has.
func of[T any](s sight, w want) (value T, err error, ok bool) {
	g, ok := s.got[w]
	if !ok {
		return value, nil, false
	}
	value, _ = g.value.(T)
	return value, g.err, true
}

func (s sight) openAlerts() []watch.Alert {
	list, _, _ := of[[]watch.Alert](s, want{kind: alerts})
	return list
}

// Source is what the view reads. A source.Source is one.
type Source interface {
	View(ctx context.Context) (dashboard.View, error)
	Watch(ctx context.Context) <-chan struct{}
	Task(ctx context.Context, id string) (*dashboard.TaskPage, error)
	Diff(ctx context.Context, id string) (*dashboard.Diff, error)
	Log(f history.Filter) ([]dashboard.Happening, error)
	Alerts() ([]watch.Alert, error)
	Doing(ctx context.Context) map[string]dashboard.Doing
	Output(name string, after int64) (events []activity.Event, next int64, err error)
}

// Verbs is what a person may do. A verb.Service is one.
type Verbs interface {
	Pause(ctx context.Context, reason string) (sprint.Sprint, error)
	Resume(ctx context.Context, decision, note string) (sprint.Sprint, error)
	Abort(ctx context.Context, reason string, goal bool) (sprint.Sprint, error)
	AddTask(ctx context.Context, n verb.NewTask) (session.Done, error)
	EditTask(ctx context.Context, e verb.TaskEdit) (session.Done, error)
	StopAgent(ctx context.Context, in verb.AgentOrder) (verb.Ordered, error)
	RestartAgent(ctx context.Context, in verb.AgentOrder) (verb.Ordered, error)
	Hold(ctx context.Context, id, reason string) (session.Done, error)
	Unhold(ctx context.Context, id string) (session.Done, error)
	Tell(ctx context.Context, in verb.TellInput) (verb.Told, error)
	Comment(ctx context.Context, in verb.Comment) (session.Done, error)
	Answer(ctx context.Context, id, answer string) (verb.Answered, error)
	ApproveMerge(ctx context.Context, in verb.MergeDecision) (session.Done, error)
	RejectMerge(ctx context.Context, in verb.MergeDecision) (session.Done, error)
	Pick(ctx context.Context, in verb.PickInput) (session.Done, error)
	Release(ctx context.Context, in verb.ReleaseInput) (session.Done, error)
	Unblock(ctx context.Context, w verb.WayOut) (session.Done, error)
	Abandon(ctx context.Context, w verb.WayOut) (session.Done, error)
	Finalize(ctx context.Context, ids []string) (verb.Finalized, error)
	AcceptIntegration(ctx context.Context, reason string) (integration.Standing, error)
	RestoreIntegration(ctx context.Context, reason string) (integration.Standing, error)
}

// Problem is an error as people read it, with the command that helps.
type Problem struct{ Message, Next string }

// Options are what comes from outside.
type Options struct {
	Source  Source
	Verbs   Verbs
	Now     func() time.Time
	Mask    func(string) string // hides secrets; nil: none are known
	Explain func(error) Problem
	Editor  func(dir string) *exec.Cmd // opens a folder
	Shell   func(dir string) *exec.Cmd
	Open    func(ctx context.Context, task string, port int) (string, error) // begins to forward a server of its run, 0 for the only one; says where
	Folder  func(task string) string                                         // where the worktree of a task is, "" when there is none

	In      io.Reader
	Out     io.Writer // the terminal
	Environ []string

	later func(time.Duration, func(time.Time) tea.Msg) tea.Cmd // tea.Tick, but in tests
}

// ErrInterrupted is what Run returns when the person ended it with Ctrl-C, or ctx is over.
var ErrInterrupted = errors.New("interrupted")

// Run shows the view until the person leaves it. The terminal is left as it was, also after a panic.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(New(ctx, o), tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler())
	last, err := p.Run()
	switch m, _ := last.(Model); {
	case errors.Is(err, tea.ErrProgramPanic):
		return errors.New("this is a bug in liza top; the board is as it was")
	case ctx.Err() != nil || m.interrupted:
		return ErrInterrupted
	case err != nil:
		return fmt.Errorf("cannot show the board on this terminal: %w", err)
	}
	return nil
}

// View draws the screen.
func (m Model) View() tea.View {
	v := tea.View{AltScreen: true, MouseMode: tea.MouseModeCellMotion, WindowTitle: m.windowTitle()}
	switch {
	case m.width <= 0 || m.height <= 0:
	case m.width < minColumns || m.height < minLines:
		v.Content = dashboard.Fit("too small for liza top", m.width)
	default:
		v.Content = strings.Join(m.screen(), "\n")
	}
	return v
}

func (m Model) windowTitle() string {
	title := "liza"
	if m.read {
		title += " " + m.doneOf()
		if k := len(m.view.Waiting) + len(m.view.GaveUp); k > 0 {
			title += fmt.Sprintf(", %d for you", k)
		}
	}
	return title
}
