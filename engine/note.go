package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/text"
)

// noteSample is how many documents tell the language of a database.
const noteSample = 48

// noteAt is the note of a state.
type noteAt struct {
	seq  uint64
	note string
}

// noteOf says what makes the search of this database's texts poor: most of them are in a language that the model does
// not read, or whose words have the stems of another. The language is that of more than half of a sample. It is "" if nothing is
// wrong, or known. Cost: reading the sample, once for each commit.
func (e *Engine) noteOf(ctx context.Context, s *state.State) (string, error) {
	if e.fp.Media != "" || s.Live.Len() == 0 {
		return "", nil
	}
	if at := e.note.Load(); at != nil && at.seq == s.Seq {
		return at.note, nil
	}
	by, n, step := map[string]int{}, 0, (s.Live.Len()+noteSample-1)/noteSample
	var err error
	s.Live.All(func(ord uint64) bool {
		if n++; (n-1)%step != 0 {
			return true
		}
		if err = ctx.Err(); err != nil {
			return false
		}
		d, failed := s.View.Text(ord)
		if err = failed; err != nil {
			return false
		}
		by[text.LanguageOf(d.Title+"\n"+d.Text)]++
		return true
	})
	if err != nil {
		return "", err
	}
	note := ""
	taken := (s.Live.Len() + step - 1) / step
	for code, count := range by {
		if code != "" && 2*count > taken {
			note = languageNote(code, e.st.Manifest().Language, e.fp.Model, encoder.ModelLanguages(e.fp.Model))
		}
	}
	e.note.Store(&noteAt{s.Seq, note})
	return note, nil
}

// languageNote is the note of texts in a language, in a database whose words are analysed as another.
func languageNote(code, analysed, model string, reads []string) string {
	var wrong []string
	if len(reads) > 0 && !slices.Contains(reads, code) && !slices.Contains(reads, "mul") {
		wrong = append(wrong, fmt.Sprintf("%s reads %s: words carry the search; `lexsem reembed --model multilingual-e5-small-q4` changes the model",
			model, text.LanguageName(reads[0])))
	}
	if !text.Fits(code, analysed) {
		wrong = append(wrong, fmt.Sprintf("its words have the stems of %s; a new database with `--language %s` has its own", text.LanguageName(cmp.Or(analysed, "en")), code))
	}
	if len(wrong) == 0 {
		return ""
	}
	return "most text is " + text.LanguageName(code) + "; " + strings.Join(wrong, "; ")
}
