package httpapi

import (
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

var loadTime = flag.Duration("httpapi.load", time.Minute, "how long BenchmarkLoad asks")

// TestLoad: many clients beside a writer get answers and no errors.
func TestLoad(t *testing.T) { loaded(t, time.Second) }

// BenchmarkLoad tells how long the answers take, and what memory in use grows by in the
// second half of the time; go test -bench Load -benchtime 1x.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		l := loaded(b, *loadTime)
		p50, p99 := l.took[len(l.took)/2], l.took[len(l.took)*99/100]
		b.ReportMetric(float64(len(l.took)), "answers")
		b.ReportMetric(float64(l.written), "writes")
		b.ReportMetric(float64(p50.Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(p99)/float64(p50), "p99-over-p50")
		b.ReportMetric(float64(l.half)/(1<<20), "half-MiB")
		b.ReportMetric(float64(l.end)/(1<<20), "end-MiB")
	}
}

type load struct {
	took      []time.Duration // of searches, ascending
	written   int64
	half, end uint64 // bytes in use, of clients and server together
}

// loaded has 200 clients and a writer ask for a while. It fails where one gets an error.
func loaded(tb testing.TB, d time.Duration) (l load) {
	tb.Helper()
	const clients = 200
	enc := encoder.NewHash(64)
	db := database(tb, enc, engine.Options{})
	url, _ := running(tb, db, Options{Encoder: enc})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	ask := func(path, body string) error {
		r, err := client.Post(url+path, kindJSON, strings.NewReader(body))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: status %d", path, r.StatusCode)
		}
		return nil
	}
	end := time.Now().Add(d)
	took := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	var errs, written atomic.Int64
	for i := range clients {
		wg.Go(func() {
			for time.Now().Before(end) {
				begin := time.Now()
				if err := ask("/v1/search", `{"query": "how are signing keys rotated", "k": 10}`); err != nil {
					errs.Add(1)
					tb.Log(err)
					return
				}
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	wg.Go(func() {
		for n := 0; time.Now().Before(end); n++ {
			if err := ask("/v1/documents", fmt.Sprintf(`{"documents": [{"id": "n%d", "text": "a note on keys, number %d"}]}`, n, n)); err != nil {
				errs.Add(1)
				tb.Log(err)
				return
			}
			written.Add(1)
		}
	})
	time.Sleep(d / 2)
	l.half = inUse()
	wg.Wait()
	l.end = inUse()
	l.took, l.written = slices.Sorted(slices.Values(slices.Concat(took...))), written.Load()
	if errs.Load() > 0 || len(l.took) < clients || l.written == 0 {
		tb.Fatalf("%d errors, %d answers, %d writes", errs.Load(), len(l.took), l.written)
	}
	return l
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
