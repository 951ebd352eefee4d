package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/lexsem/lexsem/encoder"
)

// ExportOptions shape Export.
type ExportOptions struct {
	// Vectors writes vectors and tokens as well, each bit of them, so that Import
	// needs no encoder. They take 5.3 bytes a dimension and chunk; so do coded token states, 4/3 of
	// their bytes. Tokens that are
	// terms of this database's own vocabulary are left out: Import makes them of the
	// texts.
	Vectors bool
	// Filter keeps the documents whose metadata meet it; the zero value keeps all.
	Filter Filter
}

// Export writes documents as JSON lines, as BEIR's corpora have them: "_id",
// "title", "text" and "metadata", in the order in which their present versions
// were stored. What else Import wants to make the same of them stands in
// "lexsem": how texts are cut into chunks, bytes that are not UTF-8, and vectors.
// It returns the number of documents. They are those of one commit; writes go on
// beside it. What fitted bridges know is not exported: Backup keeps them.
// Memory: one document. Cost: a point read of the store a document, two with vectors.
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
