package encoder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/provision"
)

// minilmTokenizer returns the bytes of all-MiniLM-L6-v2's tokenizer.json: the
// file LEXSEM_TOKENIZER names, or the provisioned one. The test skips only
// where the network is forbidden and the cache is empty.
func minilmTokenizer(t testing.TB) []byte {
	t.Helper()
	b, err := readTokenizer()
	if offline := os.Getenv("LEXSEM_OFFLINE"); offline != "" && errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT TESTED: offline, and no model is cached: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var readTokenizer = sync.OnceValues(func() ([]byte, error) {
	path := os.Getenv("LEXSEM_TOKENIZER")
	if path == "" {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		got, err := provision.Ensure(ctx, provision.Request{
			Model:   provision.DefaultModel,
			Offline: os.Getenv("LEXSEM_OFFLINE") != "",
		})
		if err != nil {
			return nil, err
		}
		path = filepath.Join(got.ModelDir, "tokenizer.json")
	}
	return os.ReadFile(path)
})

func minilm(t testing.TB, cased bool) *encoder.WordPiece {
	t.Helper()
	b := minilmTokenizer(t)
	if cased {
		var j map[string]any
		if err := json.Unmarshal(b, &j); err != nil {
			t.Fatal(err)
		}
		j["normalizer"].(map[string]any)["lowercase"] = false
		var err error
		if b, err = json.Marshal(j); err != nil {
			t.Fatal(err)
		}
	}
	w, err := encoder.ParseWordPiece(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWordPieceParity holds the tokenizer to the reference: ids and offsets of
// every recorded string.
func TestWordPieceParity(t *testing.T) {
	recorded, err := encodertest.Recordings("testdata/tokens.bin.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded) < 20000 {
		t.Fatalf("%d strings recorded, want at least 20,000", len(recorded))
	}
	byCase := map[bool]*encoder.WordPiece{false: minilm(t, false), true: minilm(t, true)}
	wrong, tokens := map[string]int{}, 0
	for i, r := range recorded {
		got := byCase[r.Cased].Tokenize(r.Text, 0)
		tokens += len(r.IDs)
		ids, offsets := slices.Equal(got.IDs, r.IDs), encodertest.OffsetsSum(got.Offsets) == r.Offsets
		if ids && offsets && got.Truncated == 0 {
			continue
		}
		if wrong[r.Kind]++; wrong[r.Kind] <= 3 {
			t.Errorf("string %d (%s, cased %v) %.200q: ids equal %v, offsets equal %v\ngot  %.300v\nwant %.300v\nspans %.300v",
				i, r.Kind, r.Cased, r.Text, ids, offsets, got.IDs, r.IDs, got.Offsets)
		}
	}
	t.Logf("%d strings, %d tokens, wrong by kind: %v", len(recorded), tokens, wrong)
}
