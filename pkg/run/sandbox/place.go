package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Place says at which paths a run has the files of the machine: each folder or file named here, with all that is in it, is
// inside at its Target, and everything else at its own path. Of two that hold a path the deeper one counts. A relative one is what texts
// say for it from the project. nil: nothing is moved.
type Place []Mount

// Inside returns the path that a run has for a path of the machine.
func (p Place) Inside(path string) string {
	return p.moved(path, func(m Mount) (from, to string) { return m.Source, m.Target })
}

// Outside returns the path of the machine for a path that a run has.
func (p Place) Outside(path string) string {
	return p.moved(path, func(m Mount) (from, to string) { return m.Target, m.Source })
}

func (p Place) moved(path string, way func(Mount) (from, to string)) string {
	best, at := "", path
	for _, m := range p {
		if from, to := way(m); filepath.IsAbs(m.Source) && within(path, from) && len(from) > len(best) {
			best, at = from, filepath.Join(to, path[len(from):])
		}
	}
	return at
}

// Text returns a text with the paths that a run has in place of those of the machine.
func (p Place) Text(text string) string {
	longest := slices.Clone(p)
	slices.SortStableFunc(longest, func(a, b Mount) int { return len(b.Source) - len(a.Source) })
	if !slices.ContainsFunc(longest, func(m Mount) bool { return strings.Contains(text, m.Source) }) {
		return text
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		i := -1
		if (text[at] == '/' || text[at] == '.') && (at == 0 || !ofName(text[at-1:])) {
			i = slices.IndexFunc(longest, func(m Mount) bool {
				whole := filepath.IsAbs(m.Source) || at == 0 || text[at-1] != '/'
				return whole && strings.HasPrefix(text[at:], m.Source) && endsName(text[at+len(m.Source):])
			})
		}
		if i < 0 {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(longest[i].Target)
		at += len(longest[i].Source)
	}
	return out.String()
}

// Texts returns each text of a list so.
func (p Place) Texts(list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = p.Text(text)
	}
	return out
}

// ofName reports whether a text begins with a character that names of files have.
func ofName(text string) bool {
	c, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-+@~.", c)
}

// endsName reports whether a name of a file has ended where a text goes on so; a full stop is one at the end of a sentence.
func endsName(text string) bool {
	return text == "" || !ofName(text) || text[0] == '.' && (len(text) == 1 || !ofName(text[1:]) && text[1] != '/')
}

// environment returns variables so. In PATH a folder of the person's checkout that is shown elsewhere keeps its place too: there
// the run's own checkout has its own.
func (p Place) environment(env []string) []string {
	out := p.Texts(env)
	for i, pair := range env {
		if list, is := strings.CutPrefix(pair, "PATH="); is && len(p) > 0 {
			var all []string
			for _, folder := range filepath.SplitList(list) {
				all = append(all, folder, p.Inside(folder))
				for _, m := range p {
					if filepath.Dir(m.Source) == folder { // one program of it is shown
						all = append(all, filepath.Dir(m.Target))
					}
				}
			}
			out[i] = "PATH=" + strings.Join(unique(all), string(filepath.ListSeparator))
		}
	}
	return out
}

// unique returns the texts without those that were there before.
func unique(all []string) (out []string) {
	for _, text := range all {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// at is the path of a file inside: at closed something else may be at its own.
func (s Spec) at(path string) string {
	if s.Level != Closed {
		return path
	}
	return s.Place.Inside(path)
}

// taken reports whether something else is at a path inside. What is mounted in /tmp may be hidden there.
func (s Spec) taken(path string) bool {
	return s.Level == Closed && s.at(path) == path && slices.ContainsFunc(s.Place, func(m Mount) bool { return m.Source != s.Tmp && within(path, m.Target) })
}

// inside returns the Spec as what is started inside sees it.
func (s Spec) inside() Spec {
	if s.Level != Closed {
		s.Place = nil
		return s
	}
	each := func(list []string) []string {
		out := slices.Clone(list)
		for i, path := range list {
			out[i] = s.at(path)
		}
		return out
	}
	in := s
	in.Read, in.Write, in.Tools = each(s.Read), each(s.Write), each(s.Tools)
	in.Over, in.Files = nil, nil
	for _, m := range s.Over {
		in.Over = append(in.Over, Mount{m.Source, s.at(m.Target)})
	}
	in.Dir, in.Home, in.Tmp, in.Proxy, in.Liza = s.at(s.Dir), s.at(s.Home), s.at(s.Tmp), s.at(s.Proxy), s.at(s.Liza)
	if s.Launcher != "" {
		in.Launcher = s.at(s.Launcher)
	}
	return in
}
