package columns

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
)

// bytes is the memory in use, without the answers that are kept.
func (c *Columns) bytes() int {
	n := 8*(cap(c.ords)+cap(c.ends)+cap(c.live)) + 4*(cap(c.posts)+cap(c.gone))
	n += 16*cap(c.terms.all) + cap(c.terms.texts) + 4*cap(c.terms.table)
	for _, p := range c.terms.paths {
		n += 80 + len(p.key) // the node, and its place in the map
	}
	return n
}

const benchDocuments = 100_000

// benchMetadata is a document of five fields, two of them its own.
func benchMetadata(i int) []byte {
	return fmt.Appendf(nil, `{"lang":"%s","path":"net/http/package%d/file%d.go","tags":["tag%d","tag%d"],"time":"2024-%02d-%02dT10:%02d:00Z","year":%d}`,
		[]string{"go", "c", "rust", "zig"}[i%4], i%977, i, i%50, i%333, 1+i%12, 1+i%28, i%60, 1990+i%35)
}

func benchColumns(tb testing.TB) (c *Columns, jsonBytes int) {
	c = New()
	for i := range benchDocuments {
		raw := benchMetadata(i)
		jsonBytes += len(raw)
		if err := c.Add(uint64(i+1), raw); err != nil {
			tb.Fatal(err)
		}
	}
	return c, jsonBytes
}

// BenchmarkColumnsAdd is one document; it also tells of the memory of 100,000.
func BenchmarkColumnsAdd(b *testing.B) {
	b.Run("document", func(b *testing.B) {
		c := New()
		docs := make([][]byte, benchDocuments)
		for i := range docs {
			docs[i] = benchMetadata(i)
		}
		for i := 0; b.Loop(); i++ {
			if err := c.Add(uint64(i), docs[i%len(docs)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("memory", func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, n := benchColumns(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(n), "json-bytes")
		b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "heap-bytes")
		b.ReportMetric(float64(c.bytes()), "counted-bytes")
		b.ReportMetric(float64(len(written(b, c))), "file-bytes")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("load", func(b *testing.B) {
		c, _ := benchColumns(b)
		data := written(b, c)
		for b.Loop() {
			if _, err := Load(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var benchFilters = []string{
	`lang = "go"`, `path ^= "net/http/package12"`, `path = "net/http/package12/file12.go"`, `year between 2000 and 2010`, `time >= "2024-06"`,
	`not path exists`, `year in [1990,1991,1992,1993,1994,1995,1996,1997,1998,1999]`,
	`lang = "go" and (year >= 2020 or tags in ["tag1", "tag2"]) and not draft exists and path ^= "net/"`,
}

// BenchmarkMatch asks filters of 100,000 documents for the first time, once
// more, and after one document was added and one deleted.
func BenchmarkMatch(b *testing.B) {
	c, _ := benchColumns(b)
	next := uint64(benchDocuments + 1)
	for _, expr := range benchFilters {
		f, err := filter.Parse(expr)
		if err != nil {
			b.Fatal(err)
		}
		match := func(b *testing.B) *Matches {
			m, err := c.Match(f)
			if err != nil {
				b.Fatal(err)
			}
			return m
		}
		b.Run("first/"+expr, func(b *testing.B) {
			for b.Loop() {
				c.cache.clear()
				match(b)
			}
			b.ReportMetric(float64(match(b).Len()), "matches")
		})
		b.Run("again/"+expr, func(b *testing.B) {
			match(b)
			for b.Loop() {
				match(b)
			}
		})
		b.Run("after a write/"+expr, func(b *testing.B) {
			match(b)
			for b.Loop() {
				if err := c.Add(next, benchMetadata(int(next))); err != nil {
					b.Fatal(err)
				}
				if !c.Delete(next - 50_000) {
					b.Fatal("not deleted")
				}
				next++
				match(b)
			}
		})
	}
	b.Run("allow", func(b *testing.B) {
		m, err := c.Match(filter.Eq("lang", "go"))
		if err != nil {
			b.Fatal(err)
		}
		n := uint64(0)
		for b.Loop() {
			n = n*6364136223846793005 + 1442695040888963407
			m.Allow(n >> 32 % benchDocuments)
		}
	})
}
