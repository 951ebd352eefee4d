package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/visual"
	"github.com/lexsem/lexsem/store"
)

// MaxImageBytes is the greatest size of an image file.
const MaxImageBytes = 16 << 20

// images is the additional state of a database of images; nil in a database of texts.
type images struct {
	words *visual.Words

	turn chan struct{} // holds a value while a codebook is fitted

	waiting atomic.Bool // the codebook has come: images before it lack their words

	mu    sync.Mutex // guards fresh
	fresh bool       // the codebook in use is not stored yet
}

// startImages gives an encoder of images as many words as the database was made with.
func (e *Engine) startImages(m store.Manifest) error {
	if e.enc == nil || e.enc.Fingerprint().Media != encoder.MediaImages {
		return nil
	}
	if e.enc.VocabSize() > 0 {
		return fmt.Errorf("%w: the encoder %s has visual words; open the database with the encoder without them", ErrInvalid, e.enc.Fingerprint().Model)
	}
	size := e.o.VisualWords
	size = cmp.Or(size, visual.DefaultWords)
	if len(m.Encoder) > 0 {
		var was encoder.Fingerprint
		if err := json.Unmarshal(m.Encoder, &was); err == nil && was.VocabSize > 0 { // start tells of the error
			size = was.VocabSize
		}
	}
	inner := e.enc.(intake.Checked).Encoder
	words, err := visual.New(inner, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	e.enc = intake.Checked{Encoder: words, Metric: e.metric}
	e.images = &images{words: words, turn: make(chan struct{}, 1)}
	return nil
}

// checkImage checks the image of a document, or that the document has none.
func (e *Engine) checkImage(d *Document) (media string, err error) {
	switch {
	case d.Data == nil && d.Media == "" || d.Data == nil && (encoder.Input{Media: d.Media}).IsText():
		if e.images != nil && d.Vector == nil {
			return "", fmt.Errorf("%w: this database holds images, and the document is none; give Data, the file of an image", ErrInvalid)
		}
		return "", nil
	case e.images == nil && d.Vector == nil:
		return "", fmt.Errorf("%w: an image in a database of texts; make one with an encoder of images", ErrInvalid)
	case !intake.Blank(d.Text):
		return "", fmt.Errorf("%w: an image with a text; the text of an image is made of it, put a caption into Title", ErrInvalid)
	}
	return checkFile(d.Data, d.Media)
}

// checkFile returns the media type of an image file; it must equal given, if that is not empty.
func checkFile(b []byte, given string) (string, error) {
	media := picture.Media(b)
	switch {
	case len(b) > MaxImageBytes:
		return "", fmt.Errorf("%w: an image of %d bytes, at most %d are taken; store it smaller", ErrInvalid, len(b), MaxImageBytes)
	case media == "":
		return "", fmt.Errorf("%w: %w", ErrInvalid, errNoImage)
	case given != "" && given != media:
		return "", fmt.Errorf("%w: the media type is %q, and the file one of %q; leave Media empty", ErrInvalid, fault.Clip(given), media)
	}
	return media, nil
}

var errNoImage = fmt.Errorf("%w: its first bytes are of no format that is read (PNG, JPEG, GIF, WebP, BMP, TIFF)", picture.ErrImage)

// isImage reports whether a stored document is an image.
func isImage(d *store.Document) bool {
	return len(d.Data) > 0 && encoder.Input{Media: d.Media}.IsImage()
}

// imageOf is the image of a document as input of the encoder.
func imageOf(d *store.Document) encoder.Input { return encoder.Input{Media: d.Media, Data: d.Data} }

// spell gives the row of an image its tokens, and the document the text of the tokens.
func (e *Engine) spell(d *store.Document, t encoder.Tokens) {
	d.Text = e.images.words.Text(t.IDs)
	d.Rows[0].Start, d.Rows[0].End = 0, len(d.Text)
	intake.SetTokens(d, 0, t, e.short)
}

// queryImage gives a query with an image its visual words as text.
func (e *Engine) queryImage(ctx context.Context, q Query) (Query, error) {
	if q.Image == nil {
		return q, nil
	}
	if !intake.Blank(q.Text) || q.Vector != nil {
		return q, fmt.Errorf("%w: a query with an image and a text or a vector; give one of them", ErrInvalid)
	}
	media, err := checkFile(q.Image, "")
	switch {
	case e.enc == nil && !e.vectorsOnly():
		return q, ErrNoEncoder
	case e.images == nil:
		return q, fmt.Errorf("%w: an image as a query in a database of texts; make one with an encoder of images", ErrInvalid)
	case err != nil:
		return q, err
	}
	out, err := e.enc.Encode(ctx, encoder.Query, []encoder.Input{{Media: media, Data: q.Image}}, encoder.NeedDense)
	if errors.Is(err, picture.ErrImage) {
		return q, fmt.Errorf("%w: the query: %w", ErrInvalid, err)
	}
	if err != nil {
		return q, fmt.Errorf("encoding the query: %w", err)
	}
	q.Vector, q.Text, q.Plain = out[0].Dense, e.images.words.Text(out[0].Tokens.IDs), true
	return q, nil
}

// queryInput is the input of the encoder for the text of a prepared query.
func queryInput(q search.Query) encoder.Input {
	if q.Image != nil {
		return encoder.Input{Media: picture.Media(q.Image), Data: q.Image}
	}
	return encoder.Input{Text: q.Text}
}

// codebookFor fits the codebook, unless there is one, on images that next returns until it returns false. If
// they are too few, it returns nil, and the database stays without a codebook.
func (e *Engine) codebookFor(ctx context.Context, next func() (encoder.Input, bool, error)) error {
	x := e.images
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if x.words.Codebook() != nil {
		return nil
	}
	size, dim := x.words.VocabSize(), e.fp.States()
	var states []float32
	for more := true; more && !visual.Enough(len(states)/dim/4, size); {
		var some []encoder.Input
		for len(some) < firstWindow && more {
			in, ok, err := next()
			if err != nil {
				return err
			}
			if more = ok; ok {
				some = append(some, in)
			}
		}
		part, err := x.words.States(ctx, some)
		if err != nil {
			return fmt.Errorf("encoding images for the codebook: %w", err)
		}
		states = append(states, part...)
		e.report(ctx, Progress{Stage: "codebook", Done: len(states) / dim, Total: 4 * 16 * size})
	}
	if !visual.Enough(len(states)/dim, size) {
		return nil
	}
	b, err := visual.FitCodebook(ctx, states, dim, size, 1, runtime.GOMAXPROCS(0))
	if errors.Is(err, visual.ErrFewPatches) {
		return nil // they are all alike
	}
	if err != nil {
		return fmt.Errorf("fitting the codebook: %w", err)
	}
	if err := x.words.Set(b); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fresh = true
	x.waiting.Store(true)
	return nil
}

// needsCodebook reports whether n images are enough for the first codebook.
func (e *Engine) needsCodebook(n int) bool {
	return e.images != nil && e.images.words.Codebook() == nil && visual.Enough(n*e.fp.MaxTokens, e.images.words.VocabSize())
}

// wordsForAll fits the codebook on the images of a call before they are encoded, if they are enough.
func (e *Engine) wordsForAll(ctx context.Context, records []record) error {
	var at []int
	for i := range records {
		if isImage(&records[i].Document) && (len(records[i].Rows) == 0 || records[i].Rows[0].Vector == nil) {
			at = append(at, i)
		}
	}
	if !e.needsCodebook(len(at)) {
		return nil
	}
	n := 0
	most := min(len(at), 4*16*e.images.words.VocabSize()/max(1, e.fp.MaxTokens)+1) // spread over all of them
	err := e.codebookFor(ctx, func() (encoder.Input, bool, error) {
		if n == most {
			return encoder.Input{}, false, nil
		}
		n++
		return imageOf(&records[at[(n-1)*len(at)/most]].Document), true, nil
	})
	if _, ok := errors.AsType[*encoder.TextError](err); ok { // of a window of those above; encode finds it again, and names it
		return nil
	}
	return err
}

// storeCodebook puts a codebook that the store does not have into a batch, as its next basis.
func (e *Engine) storeCodebook(ctx context.Context, b *store.Batch, number int) error {
	if e.images == nil {
		return nil
	}
	e.images.mu.Lock()
	fresh := e.images.fresh
	e.images.mu.Unlock()
	if !fresh {
		return nil
	}
	return b.AddBasis(ctx, number, e.images.words.Codebook().AppendBinary(nil))
}

// acceptCodebook uses the bytes of a codebook; stored reports whether the store has them. A second codebook is
// refused, since its words would have the same numbers.
func (e *Engine) acceptCodebook(record []byte, stored bool) error {
	if e.images == nil {
		return nil // opened without the encoder, or for vectors alone
	}
	b, err := visual.ReadCodebook(record)
	if err != nil {
		return err
	}
	x := e.images
	if now := x.words.Codebook(); now != nil && string(now.AppendBinary(nil)) != string(record) {
		return fmt.Errorf("%w: another codebook of visual words than that of the database", visual.ErrCodebook)
	}
	if err := x.words.Set(b); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fresh = !stored
	return nil
}

// resolving is an encoder of references to the images of a state.
func (e *Engine) resolving(s *state.State) encoder.Encoder {
	return visual.NewReferences(e.enc, func(ctx context.Context, name string) (encoder.Input, error) {
		var ord uint64
		if _, err := fmt.Sscan(name, &ord); err != nil {
			return encoder.Input{}, fmt.Errorf("%w: no image %.80q", ErrInvalid, name)
		}
		d, err := s.View.Text(ctx, ord)
		if err != nil {
			return encoder.Input{}, state.Missing(err)
		}
		return imageOf(d), nil
	})
}

// wordWaiting fits the codebook if there are enough images by now, and gives words to the images stored before
// it. A failure is not an error of the call that stored the last image.
func (e *Engine) wordWaiting(ctx context.Context) {
	if e.images == nil || !e.needsCodebook(e.st.Len()) && !e.images.waiting.Load() {
		return
	}
	if err := e.wordStored(ctx); err != nil {
		e.warn("images that were stored before there was a codebook have no visual words yet; the next call that stores some tries again", "error", err)
		return
	}
	e.images.waiting.Store(false)
}

// noteWaiting finds out whether a process ended between the commit of the codebook and the commits that give
// earlier images their words. It looks at the oldest image, which gets them last.
func (e *Engine) noteWaiting(ctx context.Context) error {
	if e.images == nil || e.images.words.Codebook() == nil {
		return nil
	}
	for ord := range e.db.Present().Live.All {
		d, err := e.st.Get(ctx, ord)
		if err != nil {
			return errors.Join(err, e.db.Abandon())
		}
		e.images.waiting.Store(isImage(d) && d.Text == "")
		break
	}
	return nil
}

// wordStored encodes the stored images without words again.
func (e *Engine) wordStored(ctx context.Context) error {
	ref := e.db.Acquire()
	if ref == nil {
		return ErrClosed
	}
	var ords []uint64
	for ord := range ref.Value.Live.All {
		ords = append(ords, ord)
	}
	ref.Release()
	get := func(ord uint64) (*store.Document, error) {
		d, err := e.st.Get(ctx, ord)
		if errors.Is(err, ErrNotFound) { // replaced since
			return nil, nil
		}
		if err != nil || !isImage(d) || d.Text != "" {
			return nil, err
		}
		return d, nil
	}
	n := 0
	if err := e.codebookFor(ctx, func() (encoder.Input, bool, error) {
		for ; n < len(ords); n++ {
			d, err := get(ords[n])
			if err != nil {
				return encoder.Input{}, false, err
			}
			if d != nil {
				n++
				return imageOf(d), true, nil
			}
		}
		return encoder.Input{}, false, nil
	}); err != nil || e.images.words.Codebook() == nil {
		return err
	}
	var page []kept
	flush := func() error {
		in := make([]encoder.Input, len(page))
		for i, d := range page {
			in[i] = imageOf(d.Document)
		}
		out, err := e.enc.Encode(ctx, encoder.Passage, in, 0)
		if err != nil {
			return err
		}
		for i, o := range out {
			e.spell(page[i].Document, o.Tokens)
		}
		_, _, err = e.rewrite(ctx, page)
		page = nil
		return err
	}
	for _, ord := range ords {
		d, err := get(ord)
		if err != nil {
			return err
		}
		if d != nil {
			page = append(page, kept{ord, d})
		}
		if len(page) == encodeWindow {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
