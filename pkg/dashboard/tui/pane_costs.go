package tui

import (
	"cmp"
	"slices"

	"liza/pkg/dashboard"
)

// costLines is what it cost, what the rest will take, and how well it goes.
func (m Model) costLines(width int) []line {
	f, err, ok := of[dashboard.Figures](m, want{kind: costs})
	switch {
	case err != nil:
		return m.unread(err)
	case !ok:
		return nil
	}
	p := m.page(width)
	p.add(seg{"So far ", faint}, seg{cmp.Or(money(f.Total), "nothing"), bold}, seg{" in " + plural(f.Total.Runs, "run"), faint})
	if f.Total.UnknownRuns > 0 {
		p.add(seg{"of " + plural(f.Total.UnknownRuns, "run") + " nobody knows what it cost", warn})
	}
	p.spark("Spent", f.Spent)
	p.spark("Merged", f.Merged)
	if f.Forecast != nil {
		p.part("What is still to do", f.Forecast.Text)
	}
	if len(f.Quality) > 0 {
		p.head("How it goes")
		for _, q := range f.Quality {
			p.add(gap(1), cell(faint, clean(q.Name), min(44, p.width/2)), gap(1), seg{clean(q.Text), normal})
		}
	}
	p.spendings("By agent", f.ByAgent)
	p.spendings("By task, the dearest first", f.ByTask)
	return p.lines
}

func (p *page) spendings(head string, list []dashboard.Spending) {
	if len(list) == 0 {
		return
	}
	p.head(head)
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b dashboard.Spending) int { return cmp.Compare(b.Cost.Cents, a.Cost.Cents) })
	most := float64(max(1, list[0].Cost.Cents))
	wide := max(0, min(30, p.width-60))
	for _, s := range list {
		full := int(float64(wide) * float64(s.Cost.Cents) / most)
		p.add(gap(1), cell(bold, clean(s.Name), 20), gap(1), right(normal, money(s.Cost), 9), gap(1), right(faint, elapsed(s.Seconds), 7), gap(1),
			right(faint, count(s.Tokens)+" tok", 9), gap(1), cell(info, repeat("▆", full), wide))
	}
}

// spark draws a curve over time on one line.
func (p *page) spark(name string, points []dashboard.Point) {
	wide := min(60, p.width-20)
	if len(points) < 2 || wide < 10 {
		return
	}
	top := 0.0
	for _, x := range points {
		top = max(top, x.Value)
	}
	if top == 0 {
		return
	}
	steps := []rune("▁▂▃▄▅▆▇█")
	curve := make([]rune, wide)
	from, to, at, next := seconds(points[0].At), seconds(points[len(points)-1].At), 0.0, 0
	for i := range curve {
		for next < len(points) && seconds(points[next].At)-from <= (to-from)*int64(i)/int64(wide-1) {
			at = points[next].Value
			next++
		}
		curve[i] = steps[min(len(steps)-1, int(at/top*float64(len(steps)-1)+0.5))]
	}
	p.add(cell(faint, name, 8), seg{string(curve), info})
}
