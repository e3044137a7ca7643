package supervisor

import (
	"context"
	"errors"
	"sync"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/activity"
	"liza/pkg/run/agent"
	"liza/pkg/run/prompt"
)

// errTold is the cause with which a run ends that a person interrupts with a text.
var errTold = errors.New("a person interrupts it with a text")

// texts brings what people tell an agent to one run of its program (specs/protocol.md#13.13). The board comes first: a text is given to
// the run there before it is said, and is seen there after the program has repeated it. So a crash between loses none, and none is said twice.
type texts struct {
	*member
	run       *run
	task      string
	interrupt func(error) // nil: the program could not go on in its conversation
	patient   bool        // a text ends the turn of the program: what is not urgent waits for its end, or goes with a command before that
	wake      chan struct{}

	looking sync.Mutex // of look

	mu    sync.Mutex
	say   func(agent.Text) error // nil: the program takes none
	heard []string               // that the program has repeated
	given bool                   // something came with the prompt or a command, and the model has not spoken since
	spoke bool                   // it has
}

// openTexts begins to bring texts to a run; close ends it. A helper of a member, which has no verbs, is told nothing.
func (l *launcher) openTexts(ctx context.Context, spec *agent.Spec, r *run, task string, program agent.Adapter, interrupt func(error)) (close func()) {
	if spec.Liza == "" || task == "" {
		return func() {}
	}
	x := &texts{member: l.member, run: r, task: task, wake: make(chan struct{}, 1), patient: program != nil && program.Info().Interrupts}
	if r.resumes {
		x.interrupt = interrupt
	}
	spec.Spoken = func(say func(agent.Text) error) {
		x.mu.Lock()
		x.say = say
		x.mu.Unlock()
		x.awake()
	}
	spec.Idle = func() { x.look(context.WithoutCancel(ctx), atIdle) }
	hear := spec.Event
	spec.Event = func(e agent.Event) {
		x.hear(e)
		hear(e)
	}
	within, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { x.follow(within) })
	if l.Role == blackboard.RoleCoder {
		following.Go(func() { x.compareWork(within) })
	}
	return func() {
		stop()
		following.Wait()
		x.look(context.WithoutCancel(ctx), atEnd)
	}
}

func (x *texts) awake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// hear notes receipts. What came with a prompt or a command is seen when the model speaks next.
func (x *texts) hear(e agent.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e.Kind {
	case agent.EventHeard:
		x.heard = append(x.heard, e.Text)
	case agent.EventText, agent.EventTool, agent.EventOutput:
		if !x.given {
			return
		}
		x.spoke = true
	default:
		return
	}
	x.awake()
}

func (x *texts) follow(ctx context.Context) {
	changes := x.Service.Board.Store.Watch(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-x.wake:
		}
		x.look(ctx, atWork)
	}
}

// A moment of a run is when the board and the program are brought together.
type moment int

const (
	atWork moment = iota
	atIdle        // the program has ended its turn, and waits
	atEnd         // it has ended, and takes nothing more
)

// look brings the board and the program together.
func (x *texts) look(ctx context.Context, when moment) {
	x.looking.Lock()
	defer x.looking.Unlock()
	st, err := x.Service.Board.View(ctx)
	if err != nil || !x.under(st) {
		return
	}
	x.mu.Lock()
	say, heard, spoke := x.say, x.heard, x.spoke
	x.mu.Unlock()
	var how []string
	if spoke {
		how = []string{blackboard.ByPrompt, blackboard.ByResume, blackboard.ByCommand}
	}
	if (len(heard) > 0 || spoke) && x.write(ctx, func(st *blackboard.State) {
		transition.SeeTexts(st, x.ID, x.run.mark, heard, how, x.Service.Board.Now())
	}) {
		x.mu.Lock()
		x.heard = x.heard[len(heard):]
		x.spoke = false
		x.mu.Unlock()
	}
	waits, urgent := false, false
	given := false
	for _, n := range st.Texts(x.task) {
		given = given || !spoke && n.GivenTo(x.run.mark) && n.Receipt.How != blackboard.ByTurn
		if n.Queued() && !n.SeenBy.Has(x.ID) && n.When != blackboard.WhenAfter && (when != atIdle || !n.Liza()) { // for a warning of Liza nothing begins again
			waits, urgent = true, urgent || n.When == blackboard.WhenNow
		}
	}
	x.mu.Lock()
	x.given = given
	x.mu.Unlock()
	switch {
	case when == atEnd || !waits:
	case say != nil && x.patient && !urgent && when != atIdle:
	case say != nil:
		x.deliver(ctx, say)
	case urgent && x.interrupt != nil:
		x.interrupt(errTold)
	}
}

// under reports whether the board knows the run as the one that is under way.
func (x *texts) under(st *blackboard.State) bool {
	e := st.Agents[x.ID]
	return e != nil && e.Child != nil && e.Child.RunID == x.run.mark
}

// deliver says the texts that wait.
func (x *texts) deliver(ctx context.Context, say func(agent.Text) error) {
	var taken []*blackboard.Note
	if !x.write(ctx, func(st *blackboard.State) { taken = transition.TakeTexts(st, x.ID, x.Service.Board.Now()) }) {
		return
	}
	var silent []string
	for _, n := range taken {
		if err := say(x.textOf(n)); err != nil {
			silent = append(silent, n.ID)
			continue
		}
		x.member.say(x.task, "is told %s", n.ID)
		activity.Append(x.Service.Board.Project.Activity(x.task), activity.Event{At: x.Service.Board.Now(), Kind: activity.Note, Text: x.Service.Board.Mask(n.Message)})
	}
	if len(silent) > 0 {
		x.write(ctx, func(st *blackboard.State) {
			transition.MoveTexts(st, x.ID, x.run.mark, agent.ErrSilent.Error(), silent, x.Service.Board.Now())
		})
	}
}

// textOf is what a program is told of a text.
func (m *member) textOf(n *blackboard.Note) agent.Text {
	return agent.Text{ID: n.ID, Words: m.Service.Board.Mask(prompt.Said(n))}
}

// compareWork brings to the board which files the run changes while others are at work, twice in each heartbeat, and tells it of each task
// that changed some of them before (specs/protocol.md#13.14).
func (x *texts) compareWork(ctx context.Context) {
	said := map[string]bool{}
	for {
		st, err := x.Service.Board.View(ctx)
		if err != nil || !sleep(ctx, st.Heartbeat()/2) {
			return
		}
		for _, o := range x.overlaps(ctx) {
			if said[o.Other.ID] {
				continue
			}
			text := overlapText(o)
			said[o.Other.ID] = x.write(ctx, func(st *blackboard.State) {
				transition.TellRun(st, x.ID, "overlap-"+o.Other.ID, text, x.Service.Board.Now())
			})
		}
	}
}

// overlaps looks at the work of the task, and at what others have handed in, and returns what the task has in common with earlier work.
func (x *texts) overlaps(ctx context.Context) (list []transition.Overlap) {
	st, err := x.Service.Board.View(ctx)
	if err != nil || !x.under(st) || st.Task(x.task) == nil {
		return nil
	}
	t := st.Task(x.task)
	beside := transition.Beside(st, t)
	if len(beside) == 0 {
		return nil
	}
	changes := map[string]blackboard.List{}
	for _, o := range append(beside, t) {
		if o != t && (o.Status == blackboard.Claimed || x.Service.Board.Elsewhere(o)) {
			continue // its own supervisor looks
		}
		p, err := x.Service.Integration.WorkOf(ctx, st, o, mostCompared)
		if err != nil {
			continue
		}
		names := blackboard.List{}
		for _, f := range p.Files {
			names = append(names, f.Path)
		}
		changes[o.ID] = names
	}
	if transition.NoteChanges(st.Fork(), changes) && !x.write(ctx, func(st *blackboard.State) { transition.NoteChanges(st, changes) }) {
		return nil
	}
	if st, err = x.Service.Board.View(ctx); err != nil || st.Task(x.task) == nil {
		return nil
	}
	return transition.Overlaps(st, st.Task(x.task))
}

// mostCompared is how many bytes of a diff are read for the names of its files.
const mostCompared = 4 << 20

// overlapText tells a run which files an earlier task changes, too: their names alone, since what is not committed is its agent's own.
func overlapText(o transition.Overlap) string {
	return "Your work " + o.String() + ". That work came first and is merged before or together with yours: fit yours to it, do other parts first and look again, or ask when the two exclude each other."
}

// write changes the board while the run is under way there, and reports whether it did.
func (x *texts) write(ctx context.Context, change func(*blackboard.State)) bool {
	err := x.Service.Board.Update(ctx, "texts", func(st *blackboard.State, _ transition.Actor) error {
		if !x.under(st) {
			return errOver
		}
		change(st)
		return nil
	})
	if err != nil && !errors.Is(err, errOver) && ctx.Err() == nil {
		x.warn(x.task, "cannot note what it is told: %v", err)
	}
	return err == nil
}

// errOver says that the run is not under way any more.
var errOver = errors.New("the run is over")
