package files_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/lexsem/lexsem/engine"
	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// listed are the kinds that know their own end, so that a cut is named. Others may end after any line, or anywhere.
var listed = []string{"json", "parquet", "pdf", "docx", "pptx", "xlsx", "odt", "ods", "odp", "epub", "rtf", "ipynb"}

// whole are the kinds whose end says where their parts are, so that a file which is cut says nothing.
var whole = []string{"parquet"}

// unit is how many marks a kind loses with one of them: what is read as a whole or not at all. It is named, unless it is a page.
var unit = map[string]int{"csv": 1, "tsv": 1, "json": 1, "jsonl": 1, "ipynb": 1, "pdf": 1, "html": 1, "rtf": 1, "parquet": 4}

// marked is filestest.Marked for Parquet, too.
func marked(t *testing.T, kind string, n int) (name, content string) {
	t.Helper()
	if kind != "parquet" {
		return filestest.Marked(t, kind, n)
	}
	type row struct {
		ID   string `parquet:"id"`
		Text string `parquet:"text"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(&parquet.Uncompressed), parquet.MaxRowsPerRowGroup(4))
	for i := range n {
		if _, err := w.Write([]row{{fmt.Sprint(i), filestest.Mark(i) + " " + filestest.Rest}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "a.parquet", b.String()
}

// damaged is what reading a damaged file gave.
type damaged struct {
	text   string
	named  []string
	failed error
}

func readDamaged(t *testing.T, name, in string) (d damaged) {
	t.Helper()
	o := Options{ID: "f", KeepRepeated: true, Warn: func(w Warning) { d.named = append(d.named, w.Text) }}
	for rec, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, o) {
		var one *RecordError
		switch {
		case errors.As(err, &one):
			d.named = append(d.named, err.Error())
		case err != nil:
			d.named, d.failed = append(d.named, err.Error()), err
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		default:
			d.text += rec.Title + "\n" + rec.Text + "\n"
		}
	}
	return d
}

// TestTextBeforeDamage: of a file that is cut, or other bytes of which came in between, the text before that is read, and what
// is lost behind it is named where the kind tells.
func TestTextBeforeDamage(t *testing.T) {
	const marks = 40
	rng := rand.New(rand.NewPCG(trial.Seed(t), 1))
	for _, kind := range append([]string{"parquet"}, filestest.MarkedKinds...) {
		n := unit[kind]
		name, good := marked(t, kind, marks)
		at := make([]int, marks)
		for i := range at {
			if at[i] = strings.Index(good, filestest.Mark(i)); at[i] < 0 {
				t.Fatalf("%s: mark %d is not in the file", kind, i)
			}
		}
		directory := len(good) // where the list of parts begins, or the footer
		if at := strings.Index(good, "PK\x01\x02"); at > 0 {
			directory = at
		} else if slices.Contains(whole, kind) {
			directory = len(good) - 8 - int(binary.LittleEndian.Uint32([]byte(good[len(good)-8:])))
		}
		if d := readDamaged(t, name, good); len(d.named) > 0 || strings.Count(d.text, "walrus") != marks {
			t.Fatalf("%s: a sound file: %d marks, named %q", kind, strings.Count(d.text, "walrus"), d.named)
		}
		for range trial.Rounds(t, 30, 2000) {
			from := at[0] + rng.IntN(len(good)-at[0])
			to := min(len(good), from+1+rng.IntN(64))
			what, put := "cut", ""
			switch rng.IntN(4) {
			case 0:
				to = len(good)
			case 1:
				what, put = "zeros", strings.Repeat("\x00", to-from)
			case 2:
				what, to = "one byte", from+1
				put = string([]byte{good[from] ^ byte(1<<rng.IntN(8))})
			default:
				what = "noise"
				for range to - from {
					put += string([]byte{byte(rng.IntN(256))})
				}
			}
			if kind == "html" { // which may hide what follows
				put = strings.Map(func(r rune) rune {
					if r == '<' || r == '&' {
						return 'x'
					}
					return r
				}, put)
			}
			in := good[:from] + put + good[to:]
			d := readDamaged(t, name, in)
			lost, behind := 0, 0
			for i, a := range at {
				switch has := strings.Contains(d.text, filestest.Mark(i)); {
				case has:
				case a+len(filestest.Mark(i)) <= from && !(slices.Contains(whole, kind) && what == "cut" || to > directory):
					lost++
				case a >= to || what == "cut":
					behind++
				}
			}
			say := fmt.Sprintf("%s, %s at %d to %d of %d", kind, what, from, to, len(good))
			if lost > n || lost > 0 && len(d.named) == 0 && kind != "pdf" {
				t.Errorf("%s: %d of the marks before are lost; named %q", say, lost, d.named)
			}
			if behind > n && len(d.named) == 0 && (what != "cut" || slices.Contains(listed, kind)) {
				t.Errorf("%s: %d of the marks behind are lost, and nothing says so", say, behind)
			}
		}
	}
}

// TestMutations: a file of any kind that is cut, or has other bytes somewhere, gives records or an error of its content, within two
// seconds and 200 MiB. A fourth of the files are whole, and give records. Each sample is a test of its own.
func TestMutations(t *testing.T) {
	seed, n := trial.Seed(t), trial.Rounds(t, 8, 10_000)
	all := []example{{"nbformat.ipynb", made(t, "nbformat.ipynb")}, {"office.epub", made(t, "office.epub")}, {"office.docx", made(t, "office.docx")}}
	byKind := examples(t)
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		all = append(all, byKind[kind])
	}
	for _, kind := range append([]string{"parquet"}, filestest.MarkedKinds...) {
		name, in := marked(t, kind, 20)
		all = append(all, example{"marked-" + name, in})
	}
	for i, x := range all {
		t.Run(x.name, func(t *testing.T) { mutations(t, rand.New(rand.NewPCG(seed, uint64(i))), n, x) })
	}
}

// mutations reads n files that are near x.
func mutations(t *testing.T, rng *rand.Rand, n int, x example) {
	read, slowest, most := 0, time.Duration(0), uint64(0)
	for i := range n {
		in := []byte(x.content)
		for range i % 4 {
			switch at := rng.IntN(len(in)); rng.IntN(3) {
			case 0:
				in = in[:at+1]
			case 1:
				in[at] ^= byte(1 + rng.IntN(255))
			default:
				from := rng.IntN(len(in))
				in = slices.Insert(in, at, in[from:from+rng.IntN(min(100, len(in)-from))]...)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		recs, _, err := filestest.ReadAll(t, x.name, string(in), Options{ID: "x"})
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		for try := 0; took > 2*time.Second && try < 5; try++ { // others may have had the processors
			begin = time.Now()
			filestest.ReadAll(t, x.name, string(in), Options{ID: "x"})
			took = min(took, time.Since(begin))
		}
		if err != nil && !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%v of %q", err, in)
		}
		if used := after.TotalAlloc - before.TotalAlloc; took > 2*time.Second || used > 200<<20 {
			t.Errorf("%v and %d MiB for %q", took, used>>20, in)
		}
		slowest, most = max(slowest, took), max(most, after.TotalAlloc-before.TotalAlloc)
		if len(recs) > 0 {
			read++
		}
	}
	if t.Logf("%d of %d files near %d bytes are read, at most %v and %d KiB", read, n, len(x.content), slowest, most>>10); read < n/4 {
		t.Errorf("%d of %d are read", read, n)
	}
}

// TestIsolatedBytes: some bytes beyond ASCII in a text of ASCII take no letters with them.
func TestIsolatedBytes(t *testing.T) {
	line := "mark of the walrus that sleeps on the ice.\n"
	text := strings.Repeat(line, 35) + "mark of the walrus that sleeps on the 1\xe8\x81>)\xfa" + strings.Repeat(line, 4)
	for name, in := range map[string]string{"a.eml": "Subject: s\nContent-Type: text/plain; charset=utf-8\n\n" + text, "a.txt": text} {
		if got := readDamaged(t, name, in).text; strings.Count(got, "mark") != 40 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
