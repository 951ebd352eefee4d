package columns

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
)

const benchDocuments = 100_000

// benchMetadata is a document of five fields, two of them its own.
func benchMetadata(i int) []byte {
	return fmt.Appendf(nil, `{"lang":"%s","path":"net/http/package%d/file%d.go","tags":["tag%d","tag%d"],"time":"2024-%02d-%02dT10:%02d:00Z","year":%d}`,
		[]string{"go", "c", "rust", "zig"}[i%4], i%977, i, i%50, i%333, 1+i%12, 1+i%28, i%60, 1990+i%35)
}

func benchColumns(tb testing.TB) (c *Columns, jsonBytes int) {
	e := New().Edit()
	for i := range benchDocuments {
		raw := benchMetadata(i)
		jsonBytes += len(raw)
		if err := e.Add(uint64(i+1), raw); err != nil {
			tb.Fatal(err)
		}
	}
	return e.Done(), jsonBytes
}

// BenchmarkColumns is one document added; a commit of one added and one removed;
// 100,000 saved, opened and compacted; and their memory.
func BenchmarkColumns(b *testing.B) {
	b.Run("add", func(b *testing.B) {
		e := New().Edit()
		docs := make([][]byte, benchDocuments)
		for i := range docs {
			docs[i] = benchMetadata(i)
		}
		for i := 0; b.Loop(); i++ {
			if err := e.Add(uint64(i), docs[i%len(docs)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	c, jsonBytes := benchColumns(b)
	data := written(b, c)
	commit := func(b *testing.B, c *Columns) {
		next := uint64(benchDocuments)
		for b.Loop() {
			next++
			c = change(b, c, func(e *Edit) {
				if err := e.Add(next, benchMetadata(int(next))); err != nil {
					b.Fatal(err)
				}
				e.Remove(next - benchDocuments)
			})
		}
	}
	b.Run("commit", func(b *testing.B) { commit(b, c) })
	b.Run("commit on a file", func(b *testing.B) { commit(b, reload(b, c)) })
	b.Run("save", func(b *testing.B) {
		for b.Loop() {
			written(b, c)
		}
		b.ReportMetric(float64(len(data)), "file-bytes")
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := opened(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compacted", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Compacted(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("memory", func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, _ := benchColumns(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(jsonBytes), "json-bytes")
		b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "heap-bytes")
		b.ReportMetric(float64(c.Bytes()), "counted-bytes")
		b.ReportMetric(0, "ns/op")
	})
	// One document of a million keys.
	b.Run("keys", func(b *testing.B) {
		raw := []byte(`{"key0":0`)
		for i := range 1_000_000 {
			raw = fmt.Appendf(raw, `,"key%d":%d`, i+1, i)
		}
		raw = append(raw, '}')
		for b.Loop() {
			change(b, New(), func(e *Edit) {
				if err := e.Add(1, raw); err != nil {
					b.Fatal(err)
				}
			})
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
			m, err := c.Match(b.Context(), f, nil)
			if err != nil {
				b.Fatal(err)
			}
			return m
		}
		b.Run("first/"+expr, func(b *testing.B) {
			for b.Loop() {
				c.line = &lineage{rows: c.line.rows, gone: c.line.gone}
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
				c = change(b, c, func(e *Edit) {
					if err := e.Add(next, benchMetadata(int(next))); err != nil {
						b.Fatal(err)
					}
					e.Remove(next - benchDocuments)
				})
				next++
				match(b)
			}
		})
	}
	b.Run("allow", func(b *testing.B) {
		m, err := c.Match(b.Context(), filter.Eq("lang", "go"), nil)
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
