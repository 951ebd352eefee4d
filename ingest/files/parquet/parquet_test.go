package parquet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	_ "github.com/lexsem/lexsem/ingest/files/parquet"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

type parquetAuthor struct {
	Name  string   `parquet:"name"`
	Mails []string `parquet:"mails,list"`
}

type parquetRow struct {
	ID      int64            `parquet:"id"`
	Title   *string          `parquet:"title,optional"`
	Text    string           `parquet:"content,zstd"`
	Vector  []float32        `parquet:"embedding,list"`
	When    time.Time        `parquet:"when,timestamp(microsecond)"`
	Day     int32            `parquet:"day,date"`
	Price   int64            `parquet:"price,decimal(2:18)"`
	Score   float64          `parquet:"score"`
	Tags    []string         `parquet:"tags"`
	Author  parquetAuthor    `parquet:"author"`
	Authors []parquetAuthor  `parquet:"authors,list"`
	Map     map[string]int64 `parquet:"map"`
	Raw     []byte           `parquet:"raw"`
	Key     [16]byte         `parquet:"key,uuid"`
	Deep    [][]int32        `parquet:"-"`
	Opt     *int32           `parquet:"opt,optional"`
}

func parquetFile(t testing.TB, rows ...parquetRow) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[parquetRow](&b, parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestParquet(t *testing.T) {
	title, three := "T", int32(3)
	full := parquetRow{
		ID: 7, Title: &title, Text: "words", Vector: []float32{1, -.5}, When: time.Date(2024, 1, 5, 10, 0, 0, 5000, time.UTC), Day: 19727,
		Price: -5, Score: 1.5, Tags: []string{"a", "b"}, Author: parquetAuthor{"A", []string{"x", "y"}},
		Authors: []parquetAuthor{{"B", nil}, {"C", []string{"z"}}}, Map: map[string]int64{"k": 1}, Raw: []byte{0xff, 0}, Key: [16]byte{1, 15: 2}, Opt: &three,
	}
	in := parquetFile(t, full, parquetRow{ID: 8, Text: "second", Score: math.NaN(), Price: 1234}, parquetRow{ID: 9, Text: " "}, parquetRow{ID: 10, Text: "third group"})
	recs, bad, err := filestest.ReadAll(t, "a.parquet", in, files.Options{})
	if err != nil || len(recs) != 3 || len(bad) != 1 || !strings.Contains(bad[0], "no text") {
		t.Fatalf("%+v, %q, %v", recs, bad, err)
	}
	r := recs[0]
	if r.ID != "7" || r.Title != "T" || r.Text != "words" || !slices.Equal(r.Vector, []float32{1, -.5}) || r.From != 0 || r.Verbatim {
		t.Errorf("%+v", r)
	}
	got, _ := json.Marshal(r.Metadata)
	want := `{"author":{"mails":["x","y"],"name":"A"},"authors":[{"mails":[],"name":"B"},{"mails":["z"],"name":"C"}],"day":"2024-01-05","key":"01000000-0000-0000-0000-000000000002","map":{"k":1},"opt":3,"price":-0.05,"raw":"/wA=","score":1.5,"tags":["a","b"],"when":"2024-01-05T10:00:00.000005Z"}`
	if string(got) != want {
		t.Errorf("metadata\n%s, want\n%s", got, want)
	}
	r = recs[1]
	if r.ID != "8" || r.Vector != nil || r.Metadata["opt"] != nil || r.Metadata["score"] != nil || r.Metadata["price"] != json.Number("12.34") {
		t.Errorf("%+v", r)
	}
	if recs[2].ID != "10" {
		t.Errorf("%+v", recs[2])
	}
	recs, _, err = filestest.ReadAll(t, "a.parquet", in, files.Options{Columns: files.Columns{Text: "content", ID: "price"}})
	if err == nil && len(recs) > 0 {
		t.Errorf("an id of decimals: %+v", recs)
	}
	for range files.ReadStream(t.Context(), strings.NewReader(in), "a.parquet", files.Options{}) {
	}
	for _, err := range files.ReadStream(t.Context(), strings.NewReader(in), "a.parquet", files.Options{}) {
		if !errors.Is(err, files.ErrKind) {
			t.Errorf("a stream: %v", err)
		}
	}
}

func TestBadParquet(t *testing.T) {
	in := parquetFile(t, parquetRow{ID: 1, Text: "some words that are here"}, parquetRow{ID: 2, Text: "x"}, parquetRow{ID: 3, Text: "y"})
	for name, bytes := range map[string]string{"cut": in[:len(in)-9], "other": strings.Repeat("x", 100), "begin": in[:20], "magic": "PAR1PAR1", "length": "PAR1\xff\xff\xff\x7fPAR1"} {
		if recs, _, err := filestest.ReadAll(t, "a.parquet", bytes, files.Options{}); !errors.Is(err, files.ErrMalformed) || len(recs) > 0 {
			t.Errorf("%s: %v, %v", name, recs, err)
		}
	}
	step := 37
	if trial.Long() {
		step = 1
	}
	// Whatever byte is damaged, what comes out are records or an error.
	for i := 0; i < len(in); i += step {
		b := []byte(in)
		b[i] ^= 0x55
		filestest.ReadAll(t, "a.parquet", string(b), files.Options{ID: "f"})
	}
	if _, bad, _ := filestest.ReadAll(t, "a.parquet", in, files.Options{MaxBytes: 160}); len(bad) == 0 || !strings.Contains(bad[0], "longer than 160 bytes") {
		t.Errorf("long rows: %q", bad)
	}
}

// TestParquetFooterLength: no memory is taken for a footer that is longer than the file. The library would take 4 GiB.
func TestParquetFooterLength(t *testing.T) {
	for _, in := range []string{"PAR1\x15\x06\x15\x10\x10\x15\x91\x80\xb9\xe7PAR1", "PAR1\x00\x00\x00\xf0PAR1"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := filestest.ReadAll(t, "a.parquet", in, files.Options{}); !errors.Is(err, files.ErrMalformed) {
			t.Errorf("%q: %v", in, err)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16<<20 {
			t.Errorf("%q: %d bytes were taken", in, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

func FuzzParquet(f *testing.F) {
	filestest.Fuzz(f, "parquet", parquetFile(f, parquetRow{ID: 1, Text: "x", Tags: []string{"a"}}))
}

// TestOtherPackage: a kind of a package that is not imported names the package.
func TestOtherPackage(t *testing.T) {
	for _, o := range []files.Options{{}, {Kind: "pdf"}} {
		_, _, err := filestest.ReadAll(t, "a.pdf", "%PDF-1.7", o)
		if !errors.Is(err, files.ErrKind) || !strings.Contains(err.Error(), "import") || !strings.Contains(err.Error(), "ingest/files/pdf") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestFolderOfOthers: a folder says of such a file what to do, and goes on.
func TestFolderOfOthers(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a.pdf": "%PDF-1.7", "b.txt": "words"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(16), engine.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f, err := folder.Open(t.Context(), e, root, folder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Sync(t.Context())
	if err != nil || r.Added != 1 || len(r.Failed) != 1 || r.Failed[0].Path != "a.pdf" || !strings.Contains(r.Failed[0].Error(), "ingest/files/pdf") {
		t.Errorf("%+v, %v", r, err)
	}
}
