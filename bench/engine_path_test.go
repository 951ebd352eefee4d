package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// TestSystemsAnswerAsTheEngine: what a table says of a system holds for the search
// that users get by its name: the same hits, in the same order, with the same scores, also where texts are cut.
func TestSystemsAnswerAsTheEngine(t *testing.T) {
	for _, chunk := range []int{0, 24} {
		t.Run(fmt.Sprint("chunk ", chunk), func(t *testing.T) { systemsAnswerAsTheEngine(t, chunk) })
	}
}

func systemsAnswerAsTheEngine(t *testing.T, chunk int) {
	ctx, enc := t.Context(), rounded{encoder.NewHash(24)}
	c, err := ReadCorpus(townCorpus(t, 300), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	targets := NewTargets(c.Passages)
	s, err := NewSetting(ctx, enc, targets, SettingOptions{Seed: 1, ChunkTokens: chunk})
	if err != nil {
		t.Fatal(err)
	}
	if cut := s.Targets.Len() - targets.Len(); cut > 0 != (chunk > 0) {
		t.Fatalf("%d texts have %d chunks", targets.Len(), s.Targets.Len())
	}
	db, err := engine.Open(ctx, t.TempDir(), enc, engine.Options{ChunkTokens: chunk, TokenStates: engine.TokenStatesOff})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	docs := make([]engine.Document, targets.Len())
	at := map[string]int{}
	for i := range docs {
		docs[i] = engine.Document{ID: targets.ID(i), Title: targets.first[i].Title, Text: targets.first[i].Body}
		at[docs[i].ID] = i
	}
	if _, err := db.Add(ctx, docs); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(ctx); err != nil { // the factor is of all of them
		t.Fatal(err)
	}
	var texts []string
	for i := 0; i < targets.Len(); i += 10 {
		texts = append(texts, targets.Texts[i][4:40])
	}
	for _, q := range c.Queries {
		texts = append(texts, q.Text)
	}
	const k = 20
	for name, q := range map[string]engine.Query{
		"dense":        {Mode: engine.ModeDense, Variant: "none"},
		"rlr":          {Mode: engine.ModeDense, Variant: "rlr"},
		"bm25":         {Mode: engine.ModeLexical},
		"hybrid":       {Mode: engine.ModeHybrid, Variant: "rlr"},
		"hybrid:dense": {Mode: engine.ModeHybrid, Variant: "none"},
		"rrf":          {Mode: engine.ModeHybrid, Variant: "none", Fusion: fusion.Options{Kind: fusion.RRF}},
		"convex":       {Mode: engine.ModeHybrid, Variant: "none", Fusion: fusion.Options{Kind: fusion.Convex}},
	} {
		system, r := prepared(t, s, name)
		questions, err := s.Questions(ctx, texts, system.Need)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := r.Retrieve(ctx, questions, k)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			q.Text, q.K = text, k
			want, err := db.Search(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if err := same(answers[i], want.Hits, at); err != nil {
				t.Fatalf("%s, %q: %v", name, text, err)
			}
		}
	}
}

// TestEngineSystem: the system engine answers what a database of the same passages
// answers, each of them whole again where it has chunks, and leaves no file behind.
func TestEngineSystem(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, enc := t.Context(), encoder.NewHash(24)
	var long strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&long, "harbour%d ", i)
	}
	passages := []Passage{{"long", "Harbours", long.String()}, {"a", "Title", "of a mill"}, {"b", "Title of", "a mill"}, {"c", "", "granary"}}
	for i := range 60 {
		passages = append(passages, Passage{fmt.Sprint("more", i), "", fmt.Sprintf("field %d of barley %d", i, i%7)})
	}
	targets := NewTargets(passages)
	s, err := NewSetting(ctx, enc, targets, SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	db, err := engine.Open(ctx, filepath.Join(t.TempDir(), "db"), enc, engine.Options{TokenStates: engine.TokenStatesOn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := map[string]int{}
	var docs []engine.Document
	for i, p := range targets.first {
		at[p.ID] = i
		docs = append(docs, engine.Document{ID: p.ID, Title: p.Title, Text: p.Body})
	}
	if _, err := db.Add(ctx, docs); err != nil {
		t.Fatal(err)
	}
	if _, err := db.KeepTokenStates(ctx); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	texts := []string{"harbour3999", "a mill", "granary", "field of barley 3"}
	bytes := map[string]int64{}
	for name, q := range map[string]engine.Query{
		"engine:hybrid/tokens":    {},
		"engine:dense/rlr/tokens": {Mode: engine.ModeDense, Variant: "rlr", Fusion: fusion.Options{Tokens: 1}},
		"engine":                  {Fusion: fusion.Options{Tokens: -1}},
		"engine:lexical":          {Mode: engine.ModeLexical},
		"engine:dense/none":       {Mode: engine.ModeDense, Variant: "none", Fusion: fusion.Options{Tokens: -1}},
	} {
		system, r := prepared(t, s, name)
		if system.Name != name {
			t.Errorf("%s is called %s", name, system.Name)
		}
		bytes[name] = bytesOf(r)
		questions, err := s.Questions(ctx, texts, system.Need|encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := r.Retrieve(ctx, questions, 20)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			q.Text, q.K = text, 20
			want, err := db.Search(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if err := same(answers[i], want.Hits, at); err != nil || len(want.Hits) == 0 {
				t.Errorf("%s, %q: %d hits, %v", name, text, len(want.Hits), err)
			}
		}
		if strings.HasPrefix(name, "engine:hybrid") && targets.ID(answers[0][0].Target) != "long" {
			t.Errorf("%s: the end of the long passage is not found", name)
		}
	}
	if bytes["engine:hybrid/tokens"] <= bytes["engine"] || bytes["engine"] <= 0 {
		t.Errorf("bytes: %v", bytes)
	}
	for _, name := range []string{"engine:dense/none/chunk=-1", "engine:dense/none/chunk=16"} {
		_, r := prepared(t, s, name)
		bytes[name] = bytesOf(r)
	}
	if whole, small := bytes["engine:dense/none/chunk=-1"], bytes["engine:dense/none/chunk=16"]; whole >= bytes["engine"] || small <= bytes["engine"] {
		t.Errorf("bytes with chunks of other sizes: %v", bytes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("%d folders are left, %v", len(left), err)
	}
	for _, name := range []string{"engine:fast", "engine:hybrid/rlr/tokens/more", "engine:tokens", "engine:hybrid+tokens:weight=x", "engine:hybrid/chunk=x", "engine:hybrid/chunk=5", "engine:hybrid/chunk=64/tokens", "over:hybrid/rerank", "over:hybrid/chunk=64"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// prepared is a system by its name, ready for a setting.
func prepared(t *testing.T, s *Setting, name string) (System, Retriever) {
	t.Helper()
	system, err := ParseSystem(name)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.Prepare(t.Context(), system)
	if err != nil {
		t.Fatal(err)
	}
	return system, r
}

// same compares an answer with the engine's. Hits may stand in another order where
// their scores are equal but for rounding.
func same(got []Hit, want []engine.Hit, at map[string]int) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, the engine has %d", len(got), len(want))
	}
	const eps = 5e-5 // the engine rounds vectors
	scores := map[int]float64{}
	for i, h := range got {
		if d := math.Abs(h.Score - float64(want[i].Score)); !(d < eps) {
			return fmt.Errorf("rank %d: %v, the engine has %v", i+1, h.Score, want[i].Score)
		}
		scores[h.Target] = h.Score
	}
	for i, h := range want {
		s, ok := scores[at[h.ID]]
		if !ok {
			s = got[len(got)-1].Score // one that is as good as the last
		}
		if !(math.Abs(s-float64(h.Score)) < eps) {
			return fmt.Errorf("rank %d: the engine has %q", i+1, h.ID)
		}
	}
	return nil
}

// rounded is an encoder whose vectors a database stores as they are.
type rounded struct{ encoder.Encoder }

func (r rounded) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := r.Encoder.Encode(ctx, role, in, need)
	for i := range out {
		u := store.ShortVector(out[i].Dense)
		if again := slices.Clone(u); role == encoder.Passage && vec.Normalize(again) && slices.Equal(again, u) {
			out[i].Dense = u
		}
	}
	return out, err
}
