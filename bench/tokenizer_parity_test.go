package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sugarme/tokenizer"
	"github.com/sugarme/tokenizer/pretrained"

	"github.com/lexsem/lexsem/encoder"
	tok "github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// BenchmarkTokenizerParity runs our tokenizer and sugarme/tokenizer over the
// recorded strings of the uncased recipe and counts against the reference's
// ids. One operation is the whole recording, without the strings of 64 KB and
// more.
//
//	go test ./bench -run '^$' -bench TokenizerParity -benchtime 1x
func BenchmarkTokenizerParity(b *testing.B) {
	path := tokenizerPath(b)
	all, err := encoders.Recordings("../encoder/tokenizer/testdata/bert.bin.gz")
	if err != nil {
		b.Fatal(err)
	}
	recorded := slices.DeleteFunc(all, func(r encoders.Recording) bool { return r.Cased || r.Kind == "huge" })
	ours, err := tok.Load(path)
	if err != nil {
		b.Fatal(err)
	}
	theirs := loadSugarme(b, path)
	b.Run("ours", func(b *testing.B) {
		measure(b, recorded, func(dst []int32, text string) []int32 { return append(dst, ours.Tokenize(text, 0).IDs...) })
	})
	b.Run("sugarme", func(b *testing.B) {
		measure(b, recorded, func(dst []int32, text string) []int32 {
			e, err := theirs.EncodeSingle(text, true)
			if err != nil {
				return nil
			}
			for _, id := range e.Ids {
				dst = append(dst, int32(id))
			}
			return dst
		})
	})
}

// loadSugarme gives sugarme/tokenizer the same file with truncation and
// padding taken out, as the recording has none.
func loadSugarme(b *testing.B, path string) *tokenizer.Tokenizer {
	raw, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var j map[string]any
	if err := json.Unmarshal(raw, &j); err != nil {
		b.Fatal(err)
	}
	j["truncation"], j["padding"] = nil, nil
	if raw, err = json.Marshal(j); err != nil {
		b.Fatal(err)
	}
	plain := filepath.Join(b.TempDir(), "tokenizer.json")
	if err := os.WriteFile(plain, raw, 0o644); err != nil {
		b.Fatal(err)
	}
	t, err := pretrained.FromFile(plain)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// measure tokenizes every recorded string an operation and reports how many
// came out otherwise than in the reference, panics among them.
func measure(b *testing.B, recorded []encoders.Recording, tokenize func(dst []int32, text string) []int32) {
	var bytes, tokens int
	for _, r := range recorded {
		bytes += len(r.Text)
		tokens += len(r.IDs)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	var wrong, panics int
	ids := make([]int32, 0, 4096)
	try := func(text string) (got []int32) {
		defer func() {
			if recover() != nil {
				panics++
				got = nil
			}
		}()
		return tokenize(ids[:0], text)
	}
	for b.Loop() {
		wrong, panics = 0, 0
		for _, r := range recorded {
			if !slices.Equal(try(r.Text), r.IDs) {
				wrong++
			}
		}
	}
	b.ReportMetric(100*float64(wrong)/float64(len(recorded)), "wrong_%")
	b.ReportMetric(float64(panics), "panics")
	b.ReportMetric(float64(tokens)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// tokenizerPath is the tokenizer.json of all-MiniLM-L6-v2, with which the
// strings were recorded: that of LEXSEM_TOKENIZER, or the provisioned one.
func tokenizerPath(b *testing.B) string {
	if path := os.Getenv("LEXSEM_TOKENIZER"); path != "" {
		return path
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	offline := os.Getenv("LEXSEM_OFFLINE") != ""
	got, err := provision.Ensure(ctx, provision.Request{Model: provision.DefaultModel, Offline: offline})
	if offline && errors.Is(err, encoder.ErrUnavailable) {
		b.Skipf("NOT MEASURED: offline, and no model is cached: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(got.ModelDir, "tokenizer.json")
}
