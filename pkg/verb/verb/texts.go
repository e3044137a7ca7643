package verb

import "liza/pkg/verb/board"

// cleanVerdict cleans what a reviewer says.
func (v Reviews) cleanVerdict(in *VerdictInput) error {
	texts := append([]board.Text{field("--reason", &in.Reason)}, board.TextsOf("--suggest", &in.Suggestions)...)
	texts = append(texts, board.TextsOf("--learn", &in.Learn)...)
	for _, f := range in.Findings {
		texts = append(texts, field("--finding", &f.Message), field("--finding", &f.Fix), field("--finding", &f.File), field("--finding", &f.Check))
	}
	for _, f := range in.Inject {
		texts = append(texts, field("--inject", &f.Detail), field("--inject", &f.Expect))
	}
	return v.verbs.Board.Clean(texts...)
}
