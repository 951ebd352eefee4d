package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/span"
)

const filler = "Nothing of that stands in this sentence here. "

// spanDocs are documents with an answer each, to the query of the same key.
var spanDocs = map[string]struct {
	doc   Document
	query string
	want  string // the span
	line  int    // its first
}{
	"last chunk":  {Document{Text: strings.Repeat(filler+"\n", 80) + "The signing-keys rotate, every ninety days."}, "when do signing keys rotate", "The signing-keys rotate, every ninety days.", 81},
	"first":       {Document{Title: "  Grapes and plums", Text: "Violet grapes ripen. " + strings.Repeat(filler, 30)}, "violet grapes", "Violet grapes ripen.", 1},
	"white space": {Document{Text: "\n \n  Turquoise lagoons. " + filler}, "turquoise lagoons", "Turquoise lagoons.", 3},
	"CRLF":        {Document{Title: "Windows", Text: "one line\r\nanother line\r\nzebras graze\r\nthe last\r\n"}, "zebras graze", "zebras graze", 3},
	"code":        {Document{Text: "package main\n\nfunc parseFlags() {\n\tflags.Parse()\n}\n\nfunc walkTree() error {\n\treturn nil\n}\n"}, "walkTree", "func walkTree() error {", 7},
	"CJK":         {Document{Text: strings.Repeat("今日は天気がいい。", 12) + "鎌倉の大仏は銅です。" + strings.Repeat("明日は雨です。", 12)}, "鎌倉の大仏", "鎌倉の大仏は銅です。", 1},
	"long word":   {Document{Text: strings.Repeat("x", 3000) + " quokka " + strings.Repeat("y", 3000)}, "quokka", "quokka", 1},
	"title alone": {Document{Title: "Marmalade"}, "marmalade", "", 0},
}

func spanned(t *testing.T, o Options) *Engine {
	t.Helper()
	e := opened(t, t.TempDir(), o, autoHNSW)
	t.Cleanup(func() { closed(t, e) })
	put(t, e, madeDocs(rand.New(rand.NewPCG(1, 2)), 0, 80)...)
	for id, c := range spanDocs {
		c.doc.ID = id
		put(t, e, c.doc)
	}
	if err := e.Flush(t.Context()); err != nil { // else RLR may change between two searches
		t.Fatal(err)
	}
	return e
}

var spanOptions = map[string]Options{
	"words":  {TokenStates: TokenStatesOff, ChunkTokens: 60, NoSync: true},
	"tokens": keptOptions,
}

// TestSpans: a hit names the part of its text that answers, by words and by token states.
func TestSpans(t *testing.T) {
	t.Parallel()
	for name, o := range spanOptions {
		t.Run(name, func(t *testing.T) {
			e := spanned(t, o)
			for id, c := range spanDocs {
				for _, mode := range []string{ModeHybrid, ModeLexical, ModeDense} {
					res, err := e.Search(t.Context(), Query{Text: c.query, Mode: mode, K: 100, Spans: true})
					if err != nil {
						t.Fatal(err)
					}
					i := slices.IndexFunc(res.Hits, func(h Hit) bool { return h.ID == id })
					if i < 0 {
						t.Fatalf("%s, %s: not found", id, mode)
					}
					h := res.Hits[i]
					got := c.doc.Text[h.Span[0]:h.Span[1]]
					if id == "long word" && strings.Contains(got, c.want) && len(got) <= span.Limit || id == "last chunk" && mode == ModeDense && h.Chunk < h.Chunks-1 {
						continue // the words around it; the vector may take another chunk
					}
					if name == "tokens" && mode == ModeHybrid { // hashes have no CJK words, and something in common with any
						if id == "CJK" || strings.Contains(got, c.want) {
							continue
						}
					}
					if got != c.want || h.SpanLines[0] != c.line || h.SpanLines[1] != c.line {
						t.Errorf("%s, %s: %q in lines %v, want %q in %d", id, mode, got, h.SpanLines, c.want, c.line)
					}
				}
			}
		})
	}
}

// TestSpansWithin: spans of all hits of all kinds of queries are parts of their texts, and their lines those that the
// document's text has them in. All calls give the same.
func TestSpansWithin(t *testing.T) {
	t.Parallel()
	for name, o := range spanOptions {
		t.Run(name, func(t *testing.T) {
			e := spanned(t, o)
			qs := []Query{{Text: "which unit speaks of x1 and y2", PerChunk: true}, {Text: "天気", Mode: ModeLexical}, {Text: "w3 speaks of x4"}, {Text: "the"},
				{Text: "absent everywhere", Mode: ModeDense}, {Text: "y1200 on z4", Mode: ModeDense, Fusion: fusion.Options{Tokens: 1}, Offset: 3}}
			some, none := 0, 0
			for i := range qs {
				qs[i].K, qs[i].Spans = 60, true
				res, err := e.Search(t.Context(), qs[i])
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range res.Hits {
					d, err := e.Get(t.Context(), h.ID)
					if err != nil {
						t.Fatal(err)
					}
					if h.Span == [2]int{} {
						if none++; h.SpanLines != [2]int{} {
							t.Errorf("no span, and lines %v", h.SpanLines)
						}
						continue
					}
					some++
					if h.Span[0] < h.Start || h.Span[1] > h.End || h.Span[0] >= h.Span[1] || h.Span[1]-h.Span[0] > span.Limit || !utf8.ValidString(d.Text[h.Span[0]:h.Span[1]]) {
						t.Fatalf("%s: span %v of [%d, %d)", h.ID, h.Span, h.Start, h.End)
					}
					first := 1 + strings.Count(d.Text[:h.Span[0]], "\n")
					if want := [2]int{first, first + strings.Count(d.Text[h.Span[0]:h.Span[1]], "\n")}; h.SpanLines != want {
						t.Errorf("%s: lines %v, want %v", h.ID, h.SpanLines, want)
					}
				}
				x, err := e.Explain(t.Context(), qs[i], res.Hits[0].ID)
				if err != nil || x.Chunk == res.Hits[0].Chunk && (x.Span != res.Hits[0].Span || x.SpanLines != res.Hits[0].SpanLines) {
					t.Errorf("explained with %v, found with %v: %v", x.Span, res.Hits[0].Span, err)
				}
				plain := qs[i]
				plain.Spans = false
				bare, err := e.Search(t.Context(), plain)
				if err != nil {
					t.Fatal(err)
				}
				for j := range res.Hits {
					if bare.Hits[j].Span != [2]int{} || bare.Hits[j].SpanLines != [2]int{} {
						t.Fatalf("a span that was not asked for: %+v", bare.Hits[j])
					}
					bare.Hits[j].Span, bare.Hits[j].SpanLines = res.Hits[j].Span, res.Hits[j].SpanLines
				}
				if !reflect.DeepEqual(bare.Hits, res.Hits) {
					t.Errorf("spans change what is found")
				}
			}
			all, err := e.SearchBatch(t.Context(), qs)
			if err != nil {
				t.Fatal(err)
			}
			for i := range qs {
				if one, err := e.Search(t.Context(), qs[i]); err != nil || !reflect.DeepEqual(one.Hits, all[i].Hits) {
					t.Errorf("query %d in a batch: other hits, %v", i, err)
				}
			}
			if some < 50 || none < 50 {
				t.Errorf("%d spans and %d hits without", some, none)
			}
			v, err := e.Search(t.Context(), Query{Vector: slices.Repeat([]float32{1}, madeDim), Spans: true})
			if err != nil || len(v.Hits) == 0 || v.Hits[0].Span != [2]int{} {
				t.Errorf("of a vector alone: %v, %v", v.Hits[0].Span, err)
			}
		})
	}
}

// TestSpansByStates: where token states are compared they decide: beside other words, function words are no words of a
// search, and have states.
func TestSpansByStates(t *testing.T) {
	t.Parallel()
	doc := Document{ID: "d", Text: strings.Repeat("Kings reign. Queens rule. Pages run. ", 3) + "Why are you not there? " + strings.Repeat("Knights ride. ", 5)}
	for name, want := range map[string]string{"words": "Pages run.", "tokens": "Pages run. Why are you not there?"} {
		e := spanned(t, spanOptions[name])
		put(t, e, doc)
		res, err := e.Search(t.Context(), Query{Text: "why are you not there run", K: 100, Spans: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(res.Hits, func(h Hit) bool { return h.ID == "d" })
		if got := doc.Text[res.Hits[i].Span[0]:res.Hits[i].Span[1]]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSpansOfForeignCodes: codes of other tokens than the encoder's say nothing about places; the words do.
func TestSpansOfForeignCodes(t *testing.T) {
	e := spanned(t, keptOptions)
	e.enc = intake.Checked{Encoder: shifted{e.enc.(intake.Checked).Encoder}}
	res, err := e.Search(t.Context(), Query{Text: "zebras graze", K: 1, Spans: true})
	if err != nil || res.Hits[0].ID != "CRLF" || spanDocs["CRLF"].doc.Text[res.Hits[0].Span[0]:res.Hits[0].Span[1]] != "zebras graze" {
		t.Errorf("%+v, %v", res.Hits, err)
	}
}

// shifted has one token less in each passage than it encodes.
type shifted struct{ encoder.Encoder }

func (s shifted) Tokenize(r encoder.Role, text string) encoder.Tokens {
	t := s.Encoder.Tokenize(r, text)
	if r == encoder.Passage {
		for i := range t.Special {
			if !t.Special[i] {
				t.Special[i] = true
				break
			}
		}
	}
	return t
}

// TestWordsOf: a text of many parts has the words that it has in one, and a search that ended is left.
func TestWordsOf(t *testing.T) {
	e := opened(t, t.TempDir(), Options{NoSync: true}, autoHNSW)
	defer closed(t, e)
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, "word%d err_code_%d ", i%700, i%900)
	}
	got, err := e.wordsOf(t.Context(), b.String())
	if err != nil || !slices.Equal(got, e.db.Terms(nil, b.String())) {
		t.Errorf("%d terms, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.wordsOf(ctx, b.String()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for s, want := range map[string]int{"": 0, "abc": 3, "abcdef": 6, "abcd ef": 5, "ab cdef": 7, "abc\ndef": 4, "ab東京": 8, "ab" + strings.Repeat("東", 3000): 5, "abcd" + strings.Repeat("x", 5000) + " y": 3} {
		if got := frontOf(s, 3); got != want {
			t.Errorf("%.10q: %d, want %d", s, got, want)
		}
	}
}

func BenchmarkSpans(b *testing.B) {
	for name, o := range spanOptions {
		for _, spans := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%v", name, spans), func(b *testing.B) {
				o.ChunkTokens = 256
				e, err := open(b.Context(), b.TempDir(), encoder.NewHash(madeDim), o, autoHNSW)
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				if _, err := e.Upsert(b.Context(), madeDocs(rand.New(rand.NewPCG(1, 2)), 0, 400)); err != nil {
					b.Fatal(err)
				}
				read := 0
				for b.Loop() {
					res, err := e.Search(b.Context(), Query{Text: "which unit speaks of x1 and y2", K: 10, Spans: spans})
					if err != nil {
						b.Fatal(err)
					}
					read = 0
					for _, h := range res.Hits {
						read += len(h.Text)
					}
				}
				b.ReportMetric(float64(read)/10, "bytes/hit")
			})
		}
	}
}
