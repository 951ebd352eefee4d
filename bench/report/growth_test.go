package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/bench/load"
)

// TestGrowth: databases of several sizes are shown by size, with the slope between the two largest, on every page.
func TestGrowth(t *testing.T) {
	at := func(docs int, rate, open float64) *load.Report {
		disk := int64(docs) << 20
		return &load.Report{Docs: docs, DocsPerSecond: &rate, SettledPerCPUSecond: &rate, OpenCPU: &open, DiskBytes: &disk}
	}
	b := &Bundle{Lives: []*load.Report{at(1000, 100, .01), at(10, 100, .01), at(100, 100, .001)}}
	var md, page bytes.Buffer
	if err := errors.Join(b.WriteMarkdown(&md), b.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| documents | 10 | 100 | 1000 | slope |", "| adding all, CPU s | 0.1 | 1 | 10 | 1.00 |", "| opening, CPU ms | 10 | 1 | 10 | 1.00 |", "| on disk, MiB | 10 | 100 | 1,000 | 1.00 |"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("%s lacks %s", md.String(), want)
		}
		cells := strings.Split(strings.Trim(want, "| "), " | ")
		if !strings.Contains(page.String(), "<td>"+strings.Join(cells, "</td><td>")+"</td>") && cells[0] != "documents" {
			t.Errorf("the page lacks %s", want)
		}
	}
	if !strings.Contains(page.String(), "opening, CPU ms (1.00)") {
		t.Error("no plot on the page")
	}
	if c := (&Bundle{Lives: b.Lives[:1]}).Charts(); len(c) != 0 {
		t.Errorf("one size has no growth: %v", c)
	}
}
