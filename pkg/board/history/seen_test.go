package history

import (
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"liza/pkg/board/blackboard"
)

// A process that looks again and again finds what one finds that looks for the first time, whatever was done to the journal meanwhile.
func TestALookThatGoesOnFindsWhatAFirstOneFinds(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 12 {
		j, head := chained(t, "", 3+random.IntN(4))
		rev := 9
		before, revBefore := head, rev // of a record that is behind
		again := j
		again.Seen = new(Seen)
		kept := Journal{Kept: func() (string, error) { return content(t, j.Path), nil }} // by a database
		empty := Journal{Kept: func() (string, error) { return "", nil }, Seen: new(Seen)}
		if found := told(t, empty, Begins, 0); found != "" {
			t.Fatalf("of an empty journal: %s", found)
		}
		keptAgain := kept
		keptAgain.Seen, keptAgain.Stream = new(Seen), func(w io.Writer) error {
			_, err := io.Copy(w, iotest.OneByteReader(strings.NewReader(content(t, j.Path))))
			return err
		}
		for step := range 25 {
			did := ""
			lines := linesOf(t, j.Path)
			switch n := random.IntN(14); {
			case n < 7:
				did = "entries are appended"
				before, revBefore = head, rev
				head = grow(t, j, head, rev+1, 1+random.IntN(3))
				rev += 3
			case n == 7 && len(lines) > 1:
				did = "a byte is changed"
				i := random.IntN(len(lines))
				lines[i] = strings.Replace(lines[i], "note", "Note", 1)
				overwrite(t, j.Path, lines)
			case n == 8 && len(lines) > 2:
				did = "an entry is cut"
				i := random.IntN(len(lines))
				overwrite(t, j.Path, slices.Delete(lines, i, i+1))
			case n == 9:
				did = "an entry is put in"
				overwrite(t, j.Path, slices.Insert(lines, random.IntN(len(lines)+1), line(random.IntN(rev+3), "by hand")))
			case n == 10:
				did = "the end is torn, or goes on"
				overwrite(t, j.Path, append(lines, []string{"- {timestamp: 2026", "  more: text\n", "\n"}[random.IntN(3)]))
			case n == 11:
				did = "a person accepts it"
				accepts, after, err := j.Accept()
				if err != nil {
					t.Fatal(err)
				}
				entries := noted("accepted")
				entries[0].Extra = map[string]any{"accepts": accepts}
				if head, err = j.Append(rev+1, after, entries); err != nil {
					t.Fatal(err)
				}
				rev++
			case n == 12:
				did = "older entries are rotated away"
				entries := noted("another sprint")
				entries[0].Action = nextSprint
				var err error
				if head, err = j.Append(rev+1, head, entries); err == nil {
					err = j.rotate(sprintBegan, 10)
				}
				if err != nil {
					t.Fatal(err)
				}
				rev++
			case n == 13:
				did = "an older entry is changed"
				if older, _ := j.allRotated(); len(older) > 0 {
					overwrite(t, older[0].Path, []string{strings.Replace(content(t, older[0].Path), "note", "Note", 1)})
				}
			}
			for _, looks := range [][2]Journal{{j, again}, {kept, keptAgain}} {
				first, again := looks[0], looks[1]
				for _, revision := range []int{rev, rev - 4} {
					want, err := first.Check(revision)
					got, err2 := again.Check(revision)
					if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
						t.Fatalf("seed %d, round %d, step %d (%s): at revision %d %v %v, a first look %v %v", seed, round, step, did, revision, got, err2, want, err)
					}
				}
				for _, x := range []struct {
					head Link
					rev  int
				}{{before, revBefore}, {before, rev - 2}, {head, rev - 1}, {"", rev - 1}, {Begins, rev - 1}, {head, rev}} {
					if got, want := told(t, again, x.head, x.rev), told(t, first, x.head, x.rev); got != want {
						t.Fatalf("seed %d, round %d, step %d (%s): the chain to %q of revision %d: %q, a first look %q", seed, round, step, did, x.head, x.rev, got, want)
					}
				}
			}
		}
	}
}

// Another look at a long journal to which one entry was added, and what was written after a revision, cost what is new.
func TestAnotherLookCostsWhatIsNew(t *testing.T) {
	j, head := chained(t, "", 1)
	lots := slices.Repeat(noted(strings.Repeat("long ", 20)), 3000)
	head, err := j.Append(2, head, lots)
	if err != nil {
		t.Fatal(err)
	}
	database := Journal{Kept: func() (string, error) { return content(t, j.Path), nil }, Stream: j.stream}
	look := func(j Journal) func() {
		return func() {
			if found, err := j.Check(3); err != nil || len(found) > 0 {
				t.Fatal(found, err)
			}
			if found := told(t, j, head, 3); found != "" {
				t.Fatal(found)
			}
		}
	}
	seen := j
	seen.Seen = new(Seen)
	look(seen)()
	head = grow(t, j, head, 3, 1)
	if first, later := testing.AllocsPerRun(1, look(j)), testing.AllocsPerRun(1, look(seen)); later*20 > first {
		t.Errorf("a first look makes %.0f objects, a later one %.0f", first, later)
	}
	databaseSeen := database
	databaseSeen.Seen = new(Seen)
	look(databaseSeen)()
	if first, later := testing.AllocsPerRun(1, look(database)), testing.AllocsPerRun(1, look(databaseSeen)); later*20 > first {
		t.Errorf("of a database a first look makes %.0f objects, a later one %.0f", first, later)
	}
	all := testing.AllocsPerRun(1, func() { _, _ = j.Read(Filter{}) })
	for name, f := range map[string]Filter{"after a revision": {AfterRev: 2}, "the last": {Last: 1}} {
		var entries []blackboard.Entry
		some := testing.AllocsPerRun(1, func() { entries, err = j.Read(f) })
		if err != nil || len(entries) != 1 || entries[0].Rev != 3 || some*10 > all {
			t.Errorf("%s: %v %v, %.0f objects, %.0f for all entries", name, entries, err, some, all)
		}
	}
	for rev := range 3 { // at each look the writer of the newest entry has not recorded it yet
		recorded := head
		head = grow(t, j, head, 5+rev, 1)
		if later := testing.AllocsPerRun(1, func() { _ = told(t, seen, recorded, 4+rev) }); later > 1000 {
			t.Errorf("a look past the record makes %.0f objects", later)
		}
	}
}

// A look that waits for a database keeps nobody else from looking, whose time may be over sooner.
func TestALookThatWaitsKeepsNoOtherFromLooking(t *testing.T) {
	t.Parallel()
	j, head := chained(t, "", 3)
	seen, waits, goOn := new(Seen), make(chan struct{}), make(chan struct{})
	slow := Journal{Seen: seen, Kept: func() (string, error) {
		close(waits)
		<-goOn
		return content(t, j.Path), nil
	}}
	ended := make(chan error)
	go func() {
		_, err := slow.Broken(head, 9)
		ended <- err
	}()
	<-waits
	j.Seen = seen
	if found := told(t, j, head, 9); found != "" {
		t.Error(found)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
