package tokenizer

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
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// minilmFile returns the bytes of all-MiniLM-L6-v2's tokenizer.json: the
// file LEXSEM_TOKENIZER names, or the provisioned one. The test skips only
// where the network is forbidden and the cache is empty.
func minilmFile(t testing.TB) []byte {
	t.Helper()
	b, err := readMinilm()
	if offline := os.Getenv("LEXSEM_OFFLINE"); offline != "" && errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT TESTED: offline, and no model is cached: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var readMinilm = sync.OnceValues(func() ([]byte, error) {
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

func minilm(t testing.TB, keepsCase bool) *Tokenizer {
	t.Helper()
	b := minilmFile(t)
	if keepsCase {
		var j map[string]any
		if err := json.Unmarshal(b, &j); err != nil {
			t.Fatal(err)
		}
		cased(j)
		var err error
		if b, err = json.Marshal(j); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Parse(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestBERTParity holds the recipe of BERT to the reference: ids and offsets of
// every recorded string.
func TestBERTParity(t *testing.T) {
	recorded, err := encoders.Recordings("testdata/bert.bin.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded) < 20000 {
		t.Fatalf("%d strings recorded, want at least 20,000", len(recorded))
	}
	byCase := map[bool]*Tokenizer{false: minilm(t, false), true: minilm(t, true)}
	for keepsCase, want := range map[bool]string{false: "f091924ac463f113ee56f3e5de025e90", true: "52baf9d512d23165c14a8dc619a071f3"} {
		if got := byCase[keepsCase].Digest(); got != want && os.Getenv("LEXSEM_TOKENIZER") == "" {
			t.Errorf("cased %v: digest %s, and databases have %s", keepsCase, got, want)
		}
	}
	wrong, tokens := map[string]int{}, 0
	for i, r := range recorded {
		got := byCase[r.Cased].Tokenize(r.Text, 0)
		tokens += len(r.IDs)
		ids, offsets := slices.Equal(got.IDs, r.IDs), encoders.OffsetsSum(got.Offsets) == r.Offsets
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
