package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/internal/exportline"
	"github.com/lexsem/lexsem/store"
)

// recordsOf are all records in their order.
func recordsOf(t testing.TB, e *Engine) (rs []store.Document) {
	t.Helper()
	l, err := e.list(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.view.Close()
	for r, err := range l.records(t.Context(), l.view.Get) {
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, *r)
	}
	return rs
}

func exportOf(t testing.TB, e *Engine, o archive.ExportOptions) string {
	t.Helper()
	var b strings.Builder
	if _, err := e.Export(t.Context(), &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func imported(t testing.TB, e *Engine, s string) (AddResult, error) {
	t.Helper()
	x, err := archive.NewExported(strings.NewReader(s))
	if err != nil {
		return AddResult{}, err
	}
	return e.Import(t.Context(), x)
}

// odd are documents that a careless format would change.
func odd() []Document {
	v := make([]float32, madeDim)
	v[0], v[1], v[2] = 1e-38, float32(math.Copysign(0, -1)), 1
	return []Document{
		{ID: "plain", Text: "one"},
		{ID: "\xff\x00id", Title: "\xc3", Text: "not UTF-8: \x80\xff, \ufffd and \u2028 \r\n\t\x1b[31m\u202e"},
		{ID: `quotes "\/`, Title: "<b>&amp;", Text: "</script>"},
		{ID: strings.Repeat("é", 512), Title: "a title alone"},
		{ID: "0", Vector: v},
		{ID: "numbers", Text: "numbers", Metadata: map[string]any{
			"big": json.Number("123456789012345678901234567890"), "exact": json.Number("1.10"), "e": json.Number("1E+2"),
			"neg": json.Number("-0"), "lexsem": map[string]any{"_id": nil, "text": []any{true, "x", map[string]any{}}}, "_id": "x", "metadata": "y", "<": "&",
		}},
		{ID: "long", Title: "Long", Text: strings.Repeat("A sentence of some length stands here. ", 300)},
	}
}

func TestExportRoundTrip(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), Options{Language: "de", ChunkTokens: 64}, autoHNSW)
	defer closed(t, e)
	put(t, e, odd()...)
	put(t, e, madeDocs(rand.New(rand.NewPCG(5, 6)), 0, 30)...)
	put(t, e, Document{ID: "plain", Text: "replaced, and the last"})
	removed(t, e, "d4")
	want := recordsOf(t, e)
	if len(want) != 36 || want[35].ID != "plain" || len(want[5].Rows) < 3 {
		t.Fatalf("%d records", len(want))
	}
	same := func(what string, got []store.Document) {
		t.Helper()
		for i := range want {
			if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: record %d is %+v, want %+v", what, i, got[min(i, len(got)-1)], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
		}
	}
	vectors, texts := exportOf(t, e, archive.ExportOptions{Vectors: true}), exportOf(t, e, archive.ExportOptions{})
	for i, line := range strings.Split(strings.TrimSuffix(vectors, "\n"), "\n") {
		var plain struct {
			ID, Text string
		}
		if err := json.Unmarshal([]byte(strings.Replace(line, `"_id"`, `"id"`, 1)), &plain); err != nil || utf8.ValidString(want[i].ID+want[i].Text) && (plain.ID != want[i].ID || plain.Text != want[i].Text) {
			t.Errorf("line %d: %+v, %v", i, plain, err)
		}
	}

	// With vectors, and no encoder.
	x, err := archive.NewExported(strings.NewReader(vectors))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := x.Create(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	bare, err := Open(t.Context(), dir, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, bare)
	r, err := bare.Import(t.Context(), x)
	if err != nil || r.Added != 36 || r.Chunked == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	same("with vectors", recordsOf(t, bare))
	if bare.st.Manifest().Language != "de" {
		t.Error("the language is lost")
	}
	if again := exportOf(t, bare, archive.ExportOptions{Vectors: true}); again != vectors {
		t.Error("another export is another")
	}
	if r, err := imported(t, bare, vectors); err != nil || r.Added+r.Replaced != 0 || r.Unchanged != 36 {
		t.Fatalf("again: %+v, %v", r, err)
	}
	if err := x.Create(t.Context(), dir); !errors.Is(err, ErrOccupied) {
		t.Errorf("over a database: %v", err)
	}

	// Without vectors, with the encoder: the chunks stay, whatever the options.
	texts = strings.ReplaceAll(texts, `{"_id":"0","text":"","lexsem":{}}`+"\n", "") // a vector alone
	want = append(want[:3:3], want[4:]...)
	enc := opened(t, t.TempDir(), Options{Language: "de"}, autoHNSW)
	defer closed(t, enc)
	if r, err := imported(t, enc, texts); err != nil || r.Added != 35 {
		t.Fatalf("%+v, %v", r, err)
	}
	got := recordsOf(t, enc)
	for i := range got {
		if len(got[i].Rows) > 1 { // titles leave another room
			for j := range got[i].Rows {
				got[i].Rows[j].Vector, got[i].Rows[j].Tokens = want[i].Rows[j].Vector, want[i].Rows[j].Tokens
			}
		}
	}
	same("without vectors", got)
	if r, err := imported(t, enc, texts); err != nil || r.Added+r.Replaced != 0 || r.Unchanged != 35 {
		t.Fatalf("again: %+v, %v", r, err)
	}
	// Another encoder cuts anew.
	other, err := Open(t.Context(), t.TempDir(), encoder.NewHash(16), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, other)
	if _, err := imported(t, other, texts); err != nil {
		t.Fatal(err)
	}
	if n := len(recordsOf(t, other)[4].Rows); n >= len(want[4].Rows) {
		t.Errorf("%d chunks under another encoder, %d before", n, len(want[4].Rows))
	}
	if _, err := imported(t, other, vectors); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("vectors of another encoder: %v", err)
	}
	// Media types and codes, which no call of the engine writes yet.
	d := store.Document{ID: "m", Text: "m", Media: "text/html", Rows: []store.Row{{End: 1, Vector: want[0].Rows[0].Vector, Tokens: []int32{9, 2}, Codes: []byte{1, 0}}}}
	line, err := json.Marshal(exported(&d, nil, true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parseExported(line)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := p.Record(e.fp, e.metric); err != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), Options{}, autoHNSW)
	defer closed(t, e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(5, 6)), 0, 1200)...)
	s := exportOf(t, e, archive.ExportOptions{Vectors: true})
	lines := strings.SplitAfter(s, "\n")
	lines[1100] = `{"_id": "bad"` + "\n"
	c := opened(t, t.TempDir(), Options{}, autoHNSW)
	defer closed(t, c)
	r, err := imported(t, c, strings.Join(lines, ""))
	var bad *archive.LineError
	if !errors.As(err, &bad) || bad.Line != 1101 || r.Added != 1000 || r.Seq != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n, err := c.Count(t.Context(), Filter{}); err != nil || n != 1000 {
		t.Fatalf("%d stored, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x, err := archive.NewExported(io.MultiReader(strings.NewReader(strings.Join(lines[:1050], "")), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }), strings.NewReader(s)))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = c.Import(ctx, x); !errors.Is(err, context.Canceled) || r.Unchanged != 1000 {
		t.Fatalf("cancelled: %+v, %v", r, err)
	}
	if r, err = imported(t, c, s); err != nil || r.Unchanged != 1000 || r.Added != 200 {
		t.Fatalf("the rest: %+v, %v", r, err)
	}
	if !reflect.DeepEqual(recordsOf(t, c), recordsOf(t, e)) {
		t.Error("the records are others, or in another order")
	}
	// The last of two lines with one id stays, also where the first differs from
	// what is stored and the last does not.
	one := exportOf(t, e, archive.ExportOptions{Filter: Filter{}})
	first, _, _ := strings.Cut(one, "\n")
	changed := strings.Replace(first, `"text":"`, `"text":"changed `, 1)
	if r, err := imported(t, c, changed+"\n"+first+"\n"); err != nil || r.Replaced != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d, err := c.Get(t.Context(), "d0"); err != nil || strings.HasPrefix(d.Text, "changed") {
		t.Errorf("%.20q, %v", d.Text, err)
	}
}

// Documents with and without vectors may stand in one file, and what differs in any
// part of it is stored.
func TestImportMixes(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), Options{}, autoHNSW)
	defer closed(t, e)
	v := make([]float32, madeDim)
	v[3] = 1
	put(t, e, Document{ID: "own", Title: "T", Text: "a vector of its own", Vector: v, Metadata: map[string]any{"n": 1}}, Document{ID: "b", Text: "two"})
	own, _, _ := strings.Cut(exportOf(t, e, archive.ExportOptions{Vectors: true}), "\n")
	c := opened(t, t.TempDir(), Options{}, autoHNSW)
	defer closed(t, c)
	if r, err := imported(t, c, own+"\n"+`{"_id":"b","text":"two"}`+"\n"); err != nil || r.Added != 2 || r.Seq != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !reflect.DeepEqual(recordsOf(t, c), recordsOf(t, e)) {
		t.Errorf("%+v, want %+v", recordsOf(t, c), recordsOf(t, e))
	}
	w := make([]float32, madeDim)
	w[4] = 1
	for what, d := range map[string]Document{
		"title":    {ID: "own", Title: "U", Text: "a vector of its own", Vector: v, Metadata: map[string]any{"n": 1}},
		"metadata": {ID: "own", Title: "T", Text: "a vector of its own", Vector: v, Metadata: map[string]any{"n": 2}},
		"vector":   {ID: "own", Title: "T", Text: "a vector of its own", Vector: w, Metadata: map[string]any{"n": 1}},
	} {
		if r, err := imported(t, c, own); err != nil || r.Added+r.Replaced > 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		put(t, e, d)
		all := strings.Split(exportOf(t, e, archive.ExportOptions{Vectors: true}), "\n")
		if r, err := imported(t, c, strings.Join(all, "\n")); err != nil || r.Replaced != 1 || r.Unchanged != 1 {
			t.Errorf("another %s: %+v, %v", what, r, err)
		}
		if got, err := c.Get(t.Context(), "own"); err != nil || got.Title != d.Title || fmt.Sprint(got.Metadata) != fmt.Sprint(d.Metadata) || !reflect.DeepEqual(got.Vector, d.Vector) {
			t.Errorf("another %s: %+v, %v", what, got, err)
		}
	}
	// A second export behind the first, of another encoder.
	other, err := Open(t.Context(), t.TempDir(), encoder.NewHash(16), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, other)
	put(t, other, Document{ID: "x", Text: "x"})
	var bad *archive.LineError
	if _, err := imported(t, c, own+"\n"+exportOf(t, other, archive.ExportOptions{Vectors: true})); !errors.Is(err, encoder.ErrMismatch) || !errors.As(err, &bad) || bad.Line != 2 {
		t.Errorf("two encoders: %v", err)
	}
	// Large documents are no batch of hundreds.
	x, err := archive.NewExported(strings.NewReader(`{"_id":"y","text":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := x.Next()
	if err != nil {
		t.Fatal(err)
	}
	im := &importer{e: c, r: &AddResult{}, bytes: importBytes - 1}
	if err := im.add(t.Context(), x, d); err != nil || im.r.Added != 1 {
		t.Errorf("a full batch is not stored: %+v, %v", im.r, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestImportRefuses(t *testing.T) {
	e := opened(t, t.TempDir(), Options{}, autoHNSW)
	defer closed(t, e)
	put(t, e, Document{ID: "a", Text: "one"})
	head, _, _ := strings.Cut(exportOf(t, e, archive.ExportOptions{Vectors: true}), "\n")
	vector := func(x float32) string {
		b, _ := json.Marshal(bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)), madeDim))
		return string(b)
	}
	for line, want := range map[string]string{
		`[]`:                                "no line of an export",
		`{"_id":"x","text":"y"`:             "ends early",
		`{"_id":"x","text":"y"} {}`:         "something follows the document",
		`{"_id":"x","text":"y","z":1}`:      "no line of an export: json: unknown field",
		"{\"_id\":\"x\",\"text\":\"\xff\"}": "not UTF-8",
		`{"_id":"","text":"y"}`:             "an id has 1 to 1024 bytes",
		`{"_id":"` + strings.Repeat("x", 1025) + `","text":"y"}`: "this one 1025",
		`{"_id":5,"text":"y"}`:                                                                                 "cannot unmarshal number",
		`{"_id":"x","text":" "}`:                                                                               "neither text nor vectors",
		`{"_id":"x","text":"y","metadata":[1]}`:                                                                "metadata is no JSON object",
		`{"_id":"x","text":"y","lexsem":{"export":{"version":2}}}`:                                             "version 2",
		`{"_id":"x","text":"y","lexsem":{"chunks":[[0,1]]}}`:                                                   "a single chunk",
		`{"_id":"x","text":"yyy","lexsem":{"chunks":[[0,1],[1,9]]}}`:                                           "bytes 1 to 9 of a text of 3",
		`{"_id":"x","text":"yyy","lexsem":{"chunks":[[0,1],[-1,1]]}}`:                                          "bytes -1 to 1",
		`{"_id":"x","text":"yyy","lexsem":{"chunks":[[1,1],[0,1]]}}`:                                           "in its order",
		`{"_id":"x","text":"yyy","lexsem":{"chunks":[[0,1],[2,1]]}}`:                                           "bytes 2 to 1",
		`{"_id":"x","text":"y","lexsem":{"truncated":-1}}`:                                                     "-1 tokens",
		`{"_id":"x","text":"y","lexsem":{"media":"` + strings.Repeat("x", 256) + `"}}`:                         "media type of 256",
		`{"_id":"x","text":"y","lexsem":{"rows":[{"vector":"AAAA"}]}}`:                                         "3 bytes",
		`{"_id":"x","text":"y","lexsem":{"rows":[{"vector":` + vector(0) + `}]}}`:                              "vector 0: zero vector",
		`{"_id":"x","text":"y","lexsem":{"rows":[{"vector":` + vector(float32(math.NaN())) + `}]}}`:            "a NaN",
		`{"_id":"x","text":"y","lexsem":{"rows":[{"vector":` + vector(float32(math.Inf(-1))) + `}]}}`:          "an infinity",
		`{"_id":"x","text":"y","lexsem":{"rows":[{"vector":` + vector(1) + `,"tokens":[-1]}]}}`:                "token -1",
		`{"_id":"x","text":"y","lexsem":{"rows":[{"vector":` + vector(1) + `},{"vector":` + vector(1) + `}]}}`: "2 vectors for 1 chunks",
	} {
		_, err := imported(t, e, head+"\n\n"+line+"\n")
		var bad *archive.LineError
		if !errors.As(err, &bad) || bad.Line != 3 || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", line, err, want)
		}
	}
	if _, err := imported(t, e, `{"_id":"x","text":"y","lexsem":{"rows":[{"vector":`+vector(1)+`}]}}`); err == nil || !strings.Contains(err.Error(), "of which encoder") {
		t.Errorf("a vector of who knows which encoder: %v", err)
	}
	if r, err := imported(t, e, " \n\n"); err != nil || !reflect.DeepEqual(r, AddResult{}) {
		t.Errorf("nothing: %+v, %v", r, err)
	}
	if r, err := imported(t, e, "\ufeff"+`{"_id":"x","text":"y"}`); err != nil || r.Added != 1 {
		t.Errorf("a byte order mark, and no line end: %+v, %v", r, err)
	}
	boom := errors.New("boom")
	if _, err := archive.NewExported(readerFunc(func([]byte) (int, error) { return 0, boom })); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
	x, err := archive.NewExported(strings.NewReader(`{"_id":"x","text":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Create(t.Context(), t.TempDir()); !errors.Is(err, ErrNoEncoder) {
		t.Errorf("a database for texts alone: %v", err)
	}
}

// Without an encoder, texts cannot be imported; nothing can where only reading is.
func TestImportNeeds(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir, Options{}, autoHNSW)
	put(t, e, Document{ID: "a", Text: "one"})
	closed(t, e)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		e, err := Open(t.Context(), dir, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		want := ErrNoEncoder
		if o.ReadOnly {
			want = ErrReadOnly
		}
		if _, err := imported(t, e, `{"_id":"x","text":"y"}`); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		closed(t, e)
	}
}

// FuzzImport: a line that is read makes a record that is the same when it is
// written and read again.
func FuzzImport(f *testing.F) {
	fp := encoder.NewHash(4).Fingerprint()
	for i, d := range odd() {
		r := store.Document{ID: d.ID, Title: d.Title, Text: d.Text, Rows: []store.Row{{End: len(d.Text), Vector: []float32{1, 2, 3, 4}, Tokens: []int32{5, 3}}}}
		if i%2 == 1 && len(d.Text) > 4 {
			r.Rows = []store.Row{{Start: 0, End: 3, Vector: []float32{1, 0, 0, 0}}, {Start: 2, End: 4, Vector: []float32{0, 1, 0, 0}, Codes: []byte{1}}}
		}
		line, err := json.Marshal(exported(&r, &exportline.Head{Version: 1, Encoder: fp}, i%3 != 0))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"_id":"x","text":"y","metadata":{"a":[1e400,{"b":null}]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		x, err := parseExported(line)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		d, err := x.Record(fp, "")
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		vectors := len(d.Rows) > 0 && d.Rows[0].Vector != nil
		if !vectors {
			d.Truncated = 0
		}
		if d.Rows == nil {
			d.Rows = []store.Row{{End: len(d.Text)}}
		}
		again, err := json.Marshal(exported(&d, nil, vectors))
		if err != nil {
			t.Fatal(err)
		}
		if x, err = parseExported(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if back, err := x.Record(fp, ""); err != nil || fmt.Sprintf("%+v", back) != fmt.Sprintf("%+v", d) {
			t.Errorf("%+v, was %+v, %v", back, d, err)
		}
	})
}

// exported is the line of a record, the first of an export if it has a head.
func exported(d *store.Document, head *exportline.Head, vectors bool) json.RawMessage {
	var b bytes.Buffer
	h := exportline.Head{}
	if head != nil {
		h = *head
	}
	h.Vectors = vectors
	w := exportline.NewWriter(&b, h)
	if err := errors.Join(w.Write(d), w.Write(d), w.Flush()); err != nil {
		panic(err)
	}
	lines := bytes.SplitAfter(b.Bytes(), []byte("\n"))
	if head != nil {
		return lines[0]
	}
	return lines[1]
}

// parseExported reads a line.
func parseExported(line []byte) (exportline.Line, error) {
	x, err := archive.NewExported(bytes.NewReader(line))
	if err != nil {
		return exportline.Line{}, err
	}
	l, err := x.Next()
	if err == io.EOF {
		err = fmt.Errorf("%w: a blank line", ErrInvalid)
	}
	return l, err
}
