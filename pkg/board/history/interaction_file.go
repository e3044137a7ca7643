package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/base/safefile"
)

// Interactions is the history of a task, of the planner or of the summarizer: the folder .liza/history/<task> (roles and
// knowledge 7.2). At rest jobHistory.json is valid JSON with one interaction a line; readers ignore the incomplete end of a
// killed writer, and the next writer cuts it. Writers hold the lock of the folder; readers take no lock and change no file.
// No decision depends on its content.
type Interactions struct {
	Dir   string
	MaxMB int                 // size in MB above which the file is compressed and set aside; 0: never
	Mask  func(string) string // masks secrets in all written texts; nil: nothing is masked
	Agent string              // the writer, for processes that wait for the lock
}

// File returns the path of the interactions.
func (h Interactions) File() string { return filepath.Join(h.Dir, historyFile) }

// Append adds an interaction and returns its sequence number.
func (h Interactions) Append(ctx context.Context, in Interaction) (sequence int, err error) {
	unlock, err := h.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return h.append(in)
}

// Scrub calls mask with the path of each file, under the lock.
func (h Interactions) Scrub(ctx context.Context, mask func(path string) error) error {
	files, err := filepath.Glob(filepath.Join(h.Dir, "*.json*"))
	if err != nil || len(files) == 0 {
		return err
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, path := range files {
		if err := mask(path); err != nil {
			return err
		}
	}
	return nil
}

func (h Interactions) lock(ctx context.Context) (func() error, error) {
	if err := safefile.MakeFolder(h.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot write the history: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return safefile.Lock(ctx, filepath.Join(h.Dir, ".lock"), safefile.Holder{PID: os.Getpid(), Agent: h.Agent, Op: "history"})
}

// append writes the next line. The lock is held.
func (h Interactions) append(in Interaction) (int, error) {
	end, last, err := h.settle()
	if err != nil {
		return 0, err
	}
	in.Sequence = last + 1
	line, err := encode(in.masked(h.Mask))
	if err != nil {
		return 0, err
	}
	if h.MaxMB > 0 && end+int64(len(line)) > int64(h.MaxMB)<<20 && end > int64(len(opening)) {
		if err := h.putAway(); err != nil {
			return 0, err
		}
		end = 0
	}
	return in.Sequence, h.write(end, line)
}

// write writes line at the offset end, with the trailer that completes the file. A killed writer leaves a file without a
// trailer, or with the beginning of a line.
func (h Interactions) write(end int64, line []byte) error {
	f, err := os.OpenFile(h.File(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the history: %v", err)
	}
	text := ",\n"
	switch end {
	case 0:
		text = opening
	case int64(len(opening)):
		text = ""
	}
	text += string(line) + closing
	if err = f.Truncate(end); err == nil {
		_, err = f.WriteAt([]byte(text), end)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write the history: %w", err)
	}
	return nil
}

func encode(in Interaction) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		return nil, fmt.Errorf("cannot write the history: %v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// settle says where the next line begins and the number of the last interaction. A file of
// another form is brought into ours; one that is not a history is moved aside.
func (h Interactions) settle() (end int64, last int, err error) {
	f, err := safefile.Open(h.File())
	if errors.Is(err, fs.ErrNotExist) {
		last, err := h.lastAway()
		return 0, last, err
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cannot write the history: %v", err)
	}
	defer f.Close()
	head := make([]byte, len(opening))
	n, err := f.ReadAt(head, 0)
	switch head := string(head[:n]); {
	case err != nil && err != io.EOF:
		return 0, 0, fmt.Errorf("cannot write the history: %v", err)
	case head == opening:
		end, last, err = lastLine(f)
	case strings.HasPrefix(opening, head): // nothing, or less than the first line
		err = nil
	default:
		end, last, err = h.reform()
	}
	if err == nil && last == 0 {
		last, err = h.lastAway()
	}
	return end, last, err
}

// reform rewrites a history that was put into another form, such as indented JSON. It renames a file that is not a history,
// and begins a new one.
func (h Interactions) reform() (end int64, last int, err error) {
	data, err := safefile.Read(h.File())
	if err != nil {
		return 0, 0, fmt.Errorf("cannot write the history: %v", err)
	}
	var whole struct {
		Interactions []json.RawMessage `json:"interactions"`
	}
	if json.Unmarshal(data, &whole) != nil {
		info, err := os.Stat(h.File())
		if err != nil {
			return 0, 0, fmt.Errorf("cannot write the history: %v", err)
		}
		aside := h.File() + ".corrupt-" + info.ModTime().UTC().Format("20060102T150405.000Z")
		if err := os.Rename(h.File(), aside); err != nil {
			return 0, 0, fmt.Errorf("cannot write the history: %v", err)
		}
		return 0, 0, nil
	}
	var out bytes.Buffer
	out.WriteString(opening)
	for i, raw := range whole.Interactions {
		if i > 0 {
			out.WriteString(",\n")
		}
		if err := json.Compact(&out, raw); err != nil {
			return 0, 0, fmt.Errorf("cannot write the history: %v", err)
		}
		last = max(last, sequenceOf(raw))
	}
	end = int64(out.Len())
	out.WriteString(closing)
	return end, last, safefile.Replace(h.File(), out.Bytes(), 0o600)
}

// sequenceOf is the number of an interaction, 0 when it is not whole.
func sequenceOf(line []byte) int {
	var in struct {
		Sequence int `json:"sequence"`
	}
	if json.Unmarshal(line, &in) != nil {
		return 0
	}
	return in.Sequence
}

// lastLine finds the last whole interaction from the end of the file.
func lastLine(f *os.File) (end int64, last int, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, fmt.Errorf("cannot write the history: %v", err)
	}
	end = int64(len(opening))
	err = safefile.ReadEnd(f, info.Size(), func(text []byte, from int64) bool {
		for len(text) > 0 {
			i := bytes.LastIndexByte(text, '\n')
			line := bytes.TrimSuffix(bytes.TrimRight(text[i+1:], " \r"), []byte(","))
			if last = sequenceOf(line); last > 0 {
				end = from + int64(i+1+len(line))
				return true
			}
			text = text[:max(i, 0)]
		}
		return false
	})
	if err != nil {
		return 0, 0, fmt.Errorf("cannot write the history: %v", err)
	}
	return end, last, nil
}

// putAway compresses the file into the next jobHistory.<n>.json.gz.
func (h Interactions) putAway() error {
	data, err := safefile.Read(h.File())
	if err != nil {
		return fmt.Errorf("cannot put the history away: %v", err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err = z.Write(data); err == nil {
		err = z.Close()
	}
	if err != nil {
		return fmt.Errorf("cannot put the history away: %v", err)
	}
	n := 1
	if away := h.away(); len(away) > 0 {
		n = away[len(away)-1] + 1
	}
	if err := safefile.Replace(h.awayFile(n), packed.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot put the history away: %w", err)
	}
	if err := os.Remove(h.File()); err != nil {
		return fmt.Errorf("cannot put the history away: %v", err)
	}
	return nil
}

func (h Interactions) awayFile(n int) string {
	return filepath.Join(h.Dir, fmt.Sprintf("jobHistory.%d.json.gz", n))
}

// away lists the numbers of the files that were put away, oldest first.
func (h Interactions) away() []int {
	list, _ := h.numbered("jobHistory.", ".json.gz") // a folder that cannot be read is told of when it is written
	return list
}

// lastAway is the number of the last interaction that was put away.
func (h Interactions) lastAway() (int, error) {
	for _, n := range slices.Backward(h.away()) {
		list, err := ReadInteractions(h.awayFile(n))
		if err != nil {
			return 0, err
		}
		if len(list) > 0 {
			return list[len(list)-1].Sequence, nil
		}
	}
	return 0, nil
}

// numbered lists the numbers in the names of files, the lowest first.
func (h Interactions) numbered(before, after string) ([]int, error) {
	entries, err := os.ReadDir(h.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the history: %v", err)
	}
	var list []int
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), before)
		name, whole := strings.CutSuffix(name, after)
		if n, err := strconv.Atoi(name); ok && whole && err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}
