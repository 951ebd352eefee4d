//go:build cgo && unix

package onnx_test

import (
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/provision"
)

// BenchmarkEncode encodes the 200 recorded texts with the model as it comes
// by default and with the published ONNX file. The figure to read is
// texts/cpu-s, which other load on the machine does not change much.
func BenchmarkEncode(b *testing.B) {
	b.Run("default", func(b *testing.B) { benchmarkEncode(b, provisioned(b)) })
	b.Run("published", func(b *testing.B) { benchmarkEncode(b, published(b)) })
}

func benchmarkEncode(b *testing.B, r provision.Result) {
	e := open(b, r, onnx.Options{})
	defer e.Close()
	gs := loadGolden(b)
	texts, tokens := goldenStrings(gs), 0
	for _, g := range gs {
		tokens += len(g.IDs)
	}
	b.ResetTimer()
	begin := process.CPUTime()
	for b.Loop() {
		if _, err := e.Encode(b.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense); err != nil {
			b.Fatal(err)
		}
	}
	spent := (process.CPUTime() - begin).Seconds()
	b.ReportMetric(float64(b.N*len(texts))/spent, "texts/cpu-s")
	b.ReportMetric(float64(b.N*tokens)/spent, "tokens/cpu-s")
}
