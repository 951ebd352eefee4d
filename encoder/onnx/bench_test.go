//go:build cgo && unix

package onnx_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
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
	begin := cpuTime(b)
	for b.Loop() {
		if _, err := e.Encode(b.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense); err != nil {
			b.Fatal(err)
		}
	}
	spent := (cpuTime(b) - begin).Seconds()
	b.ReportMetric(float64(b.N*len(texts))/spent, "texts/cpu-s")
	b.ReportMetric(float64(b.N*tokens)/spent, "tokens/cpu-s")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
