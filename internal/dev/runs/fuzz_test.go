package runs

import (
	"strings"
	"testing"
)

// FuzzCheck holds any text to runs: it makes findings, and what is written into it
// once is not written again.
func FuzzCheck(f *testing.F) {
	f.Add(good)
	f.Add("<!-- run: two | {} | best in row -->\n| |\n|-|\n| **1** |\n")
	f.Add("<!-- run: hand -->\n| a | a |\n|---|---|\n| | .5 |\n| | ~ |\n| − | +. |\n```\n| x")
	f.Add("<!-- run: two | {− dense} {ndcg@1:.} {mean} | a = ;; = b; best in row | -->\n| a | b |\n|-|-|\n| x | 1 |")
	f.Add("<!-- run: two | − {ndcg@10} | eight words = part:8; best in column -->\n| | query | eight words |\n|---|---|---|\n| dense | 93.1 / 96.9 | 57.6 / 68.8 |\n")
	f.Add("<!-- run: two | " + strings.Repeat("9", 400) + "{ndcg@10} | best in row -->\n| | query |\n|---|---|\n| dense | 1 |\n")
	f.Fuzz(func(t *testing.T, text string) {
		found := Check("d", text, two)
		if found.Held < 0 || found.Unheld < 0 {
			t.Error("less than none")
		}
		once, err := Rewrite(text, two)
		if err != nil {
			return
		}
		if again, err := Rewrite(once, two); err != nil || again != once {
			t.Errorf("written twice: %v\n%q\n%q", err, once, again)
		}
	})
}
