package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// SoakReport is the result of Soak. Its JSON form is stable.
type SoakReport struct {
	Docs    int     `json:"docs"`
	Dim     int     `json:"dim"`
	Seconds float64 `json:"seconds"`
	Workers int     `json:"workers"`
	// LimitMB is the memory limit of the Go runtime (GOMEMLIMIT) in MiB; null for none.
	LimitMB *float64 `json:"memory_limit_mb"`
	// Reads counts searches and reads of a document (70 of 100 operations), Writes stored documents
	// (20), and Deletes deleted documents (10).
	Reads   int `json:"reads"`
	Writes  int `json:"writes"`
	Deletes int `json:"deletes"`
	// Wrong counts results that disagree with the documents stored at that time. FirstWrong describes
	// the first.
	Wrong      int    `json:"wrong"`
	FirstWrong string `json:"first_wrong,omitempty"`
	// Growth is the relative growth of the median from the second to the last quarter of the time, by
	// figure: "rss_mb", "disk_mb", "files", "descriptors", "goroutines", "p50_ms".
	Growth  map[string]float64 `json:"growth"`
	Samples []SoakSample       `json:"samples"`
}

// SoakSample is one measurement of the process. Memory and descriptors are read from Linux's /proc and
// are 0 on other systems.
type SoakSample struct {
	Seconds     float64 `json:"seconds"` // since all documents were stored
	RSS         float64 `json:"rss_mb"`  // MiB, including the pages of mapped files
	Anonymous   float64 `json:"anonymous_mb"`
	Disk        float64 `json:"disk_mb"`
	Files       int     `json:"files"`
	Descriptors int     `json:"descriptors"`
	Goroutines  int     `json:"goroutines"`
	Documents   int     `json:"documents"`
	Operations  int     `json:"operations"` // since the previous sample
	P50         float64 `json:"p50_ms"`     // of the searches since the previous sample
	P99         float64 `json:"p99_ms"`
}

// soakFigures are the figures in SoakReport.Growth.
var soakFigures = map[string]func(SoakSample) float64{
	"rss_mb":      func(s SoakSample) float64 { return s.RSS },
	"disk_mb":     func(s SoakSample) float64 { return s.Disk },
	"files":       func(s SoakSample) float64 { return float64(s.Files) },
	"descriptors": func(s SoakSample) float64 { return float64(s.Descriptors) },
	"goroutines":  func(s SoakSample) float64 { return float64(s.Goroutines) },
	"p50_ms":      func(s SoakSample) float64 { return s.P50 },
}

// median is the median of a figure.
func median(samples []SoakSample, of func(SoakSample) float64) float64 {
	var v []float64
	for _, x := range samples {
		v = append(v, of(x))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// growth compares the quarters of the soak.
func (s *soak) growth() {
	quarter := len(s.r.Samples) / 4
	for name, of := range soakFigures {
		if before := median(s.r.Samples[quarter:2*quarter], of); before > 0 {
			s.r.Growth[name] = median(s.r.Samples[len(s.r.Samples)-quarter:], of)/before - 1
		}
	}
}

// WriteTable writes the report as a table.
func (r *SoakReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d documents of %d dimensions, %d workers, %.0f s\n", r.Docs, r.Dim, r.Workers, r.Seconds)
	if r.LimitMB != nil {
		fmt.Fprintf(t, "memory limit of the Go runtime\t%.0f MiB\n", *r.LimitMB)
	}
	fmt.Fprintf(t, "reads, documents stored, deleted\t%d, %d, %d\n", r.Reads, r.Writes, r.Deletes)
	fmt.Fprintf(t, "wrong answers\t%d %s\n", r.Wrong, r.FirstWrong)
	most := map[string]float64{}
	for _, s := range r.Samples {
		for name, of := range soakFigures {
			most[name] = max(most[name], of(s))
		}
	}
	fmt.Fprintln(t, "\tmedian\tmost\tlast quarter over the second")
	for _, name := range slices.Sorted(maps.Keys(soakFigures)) {
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%+.1f %%\n", name, median(r.Samples, soakFigures[name]), most[name], 100*r.Growth[name])
	}
	return t.Flush()
}
