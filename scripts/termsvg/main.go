// Termsvg makes an SVG picture of terminal screens, as `tmux capture-pane -e -p` prints them: one file shows a
// screen, several are shown in turn. scripts/pictures uses it.
//
//	termsvg COLUMNS ROWS SECONDS FILE… > picture.svg
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	cell, line = 8.4, 18.0 // pixels of a character of 14 pixels
	margin     = 12.0
	background = "#0d1117"
	foreground = "#d1d7e0"
)

var colours = []string{"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"}

// style is how a piece of text looks.
type style struct {
	fore, back                     string
	bold, faint, underline, invert bool
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;:]*)([A-Za-z])|\x1b[()][A-Z0-9]|[\x0e\x0f]")

// apply follows one sequence of display attributes.
func (s *style) apply(sequence string) {
	codes := strings.FieldsFunc(sequence, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		*s = style{}
	}
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i])
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.invert = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 24:
			s.underline = false
		case n == 27:
			s.invert = false
		case n >= 30 && n <= 37:
			s.fore = colours[n-30]
		case n >= 90 && n <= 97:
			s.fore = colours[n-82]
		case n >= 40 && n <= 47:
			s.back = colours[n-40]
		case n >= 100 && n <= 107:
			s.back = colours[n-92]
		case n == 39:
			s.fore = ""
		case n == 49:
			s.back = ""
		case n == 38 || n == 48:
			colour, used := extended(codes[i+1:])
			i += used
			if n == 38 {
				s.fore = colour
			} else {
				s.back = colour
			}
		}
	}
}

// extended is a colour of the 256, or one by its parts, and how many codes name it.
func extended(codes []string) (colour string, used int) {
	number := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return n
	}
	if number(0) == 2 {
		return fmt.Sprintf("#%02x%02x%02x", number(1), number(2), number(3)), 4
	}
	switch n := number(1); {
	case n < 16:
		return colours[n], 2
	case n >= 232:
		return fmt.Sprintf("#%02[1]x%02[1]x%02[1]x", 8+(n-232)*10), 2
	default:
		part := func(x int) int {
			if x == 0 {
				return 0
			}
			return 55 + 40*x
		}
		return fmt.Sprintf("#%02x%02x%02x", part((n-16)/36), part((n-16)/6%6), part((n-16)%6)), 2
	}
}

// draw writes one screen.
func draw(out *bufio.Writer, screen string) {
	var s style
	for row, text := range strings.Split(screen, "\n") {
		column := 0
		for text != "" {
			at := sgr.FindStringSubmatchIndex(text)
			end := len(text)
			if at != nil {
				end = at[0]
			}
			piece(out, s, text[:end], column, row)
			column += utf8.RuneCountInString(text[:end])
			if at == nil {
				break
			}
			if at[4] >= 0 && text[at[4]:at[5]] == "m" {
				s.apply(text[at[2]:at[3]])
			}
			text = text[at[1]:]
		}
	}
}

func piece(out *bufio.Writer, s style, text string, column, row int) {
	if text == "" {
		return
	}
	fore, back := s.fore, s.back
	if s.invert {
		fore, back = back, fore
		if fore == "" {
			fore = background
		}
		if back == "" {
			back = foreground
		}
	}
	x, y, width := margin+float64(column)*cell, margin+float64(row)*line, float64(utf8.RuneCountInString(text))*cell
	if back != "" {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, line, back)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	lead := utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " "))
	text = strings.TrimSpace(text)
	look := ""
	for attribute, on := range map[string]bool{` fill="` + fore + `"`: fore != "", ` font-weight="bold"`: s.bold, ` opacity="0.6"`: s.faint, ` text-decoration="underline"`: s.underline} {
		if on {
			look += attribute
		}
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`+"\n", x+float64(lead)*cell, y+13.5, float64(utf8.RuneCountInString(text))*cell, look, strings.ReplaceAll(html.EscapeString(text), "  ", "\u00a0\u00a0")) // two spaces would be drawn as one
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: termsvg COLUMNS ROWS SECONDS FILE…")
		os.Exit(2)
	}
	columns, _ := strconv.Atoi(os.Args[1])
	rows, _ := strconv.Atoi(os.Args[2])
	each, _ := strconv.ParseFloat(os.Args[3], 64)
	files := os.Args[4:]
	out := bufio.NewWriter(os.Stdout)
	width, height := 2*margin+float64(columns)*cell, 2*margin+float64(rows)*line
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" fill="%s">`+"\n",
		width, height, width, height, foreground)
	if n := len(files); n > 1 {
		fmt.Fprintf(out, "<style>g { visibility: hidden; animation: turn %.1fs step-end infinite } @keyframes turn { 0%% { visibility: visible } %.3f%% { visibility: hidden } }</style>\n", each*float64(n), 100/float64(n))
	}
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	for i, file := range files {
		screen, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "termsvg: cannot read the screen:", err)
			os.Exit(1)
		}
		fmt.Fprintf(out, `<g style="animation-delay:%.1fs">`+"\n", each*float64(i))
		draw(out, string(screen))
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	if err := out.Flush(); err != nil {
		os.Exit(1)
	}
}
