package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/lexsem/lexsem/encoder"
)

// ExportOptions configure Export.
type ExportOptions struct {
	// Vectors also writes vectors, tokens and token states exactly, so that Import needs no encoder. They take 5.3
	// bytes a dimension and chunk, and 4/3 of the token states' bytes.
	//
	// Tokens that are terms of this database's own vocabulary are left out: Import makes them from the texts.
	Vectors bool
	// Filter keeps documents whose metadata match; zero keeps all.
	Filter Filter
}

// Export writes the documents of one commit as JSON lines in the format of BEIR, and returns their number. Each line
// has "_id", "title", "text" and "metadata", and under "lexsem" what Import also needs: chunk divisions, bytes that are
// not UTF-8, and vectors. Documents come in the order in which they were last stored.
//
// Fitted bridges are not exported; use Backup to keep them. Writes continue meanwhile. Cost: one read from the store a
// document, two with vectors. Memory: one document.
func (e *Engine) Export(ctx context.Context, w io.Writer, o ExportOptions) (n int, err error) {
	l, err := e.list(ctx, o.Filter)
	if err != nil {
		return 0, err
	}
	defer l.view.Close()
	m := e.st.Manifest()
	fp, err := storedFingerprint(m) // with the probe vectors that came after the opening
	if err != nil {
		return 0, err
	}
	head := &exportHead{Version: exportVersion, Documents: l.n, Language: m.Language, Vectors: o.Vectors, Encoder: fp}
	if o.Vectors {
		if !e.metric.Directions() { // older programs read no other exports than those without
			head.Metric = e.metric.String()
		}
		head.Bases, err = e.storedBases()
	} else {
		head.Encoder.Probe = encoder.Fingerprint{}.Probe
	}
	if err != nil {
		return 0, err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	read := l.view.Get
	if !o.Vectors {
		read = l.view.Text
	}
	for d, err := range l.records(ctx, read) {
		if err == nil && e.terms != nil {
			dropTokens(d)
		}
		if err == nil {
			err = enc.Encode(exported(d, head, o.Vectors))
		}
		if err != nil {
			return n, err
		}
		if n++; n%256 == 1 {
			e.report(ctx, Progress{Stage: "export", Done: n, Total: l.n})
		}
		head = nil
	}
	return n, b.Flush()
}
