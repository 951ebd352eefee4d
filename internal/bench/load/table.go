package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// WriteTable writes the report as a table.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d documents of %d dimensions\n", r.Docs, r.Dim)
	row := func(what, unit string, v *float64) {
		if v != nil {
			fmt.Fprintf(t, "%s\t%.4g %s\n", what, *v, unit)
		}
	}
	row("documents added", "a second", r.DocsPerSecond)
	row("… until background work is done", "a second", r.SettledPerSecond)
	row("… of processor time", "a second", r.SettledPerCPUSecond)
	row("opened as closed", "s", r.OpenSeconds)
	row("opened a thousand documents behind", "s", r.OpenBehind)
	row("first search of a process", "ms", r.FirstMS)
	row("search at rest, median", "ms", r.P50)
	row("search at rest, 99th percentile", "ms", r.P99)
	row("search beside a writer, median", "ms", r.P50Beside)
	row("search beside a writer, 99th percentile", "ms", r.P99Beside)
	for _, n := range []string{"1", "10", "1000"} {
		row("search after an upsert of "+n, "ms", r.AfterUpsert[n])
	}
	row("longest search beside a busy goroutine", "ms", r.ControlMax)
	for _, name := range slices.Sorted(maps.Keys(r.Stall)) {
		row("longest search beyond that beside "+name, "ms", r.Stall[name])
	}
	row("latest return after a deadline", "ms", r.Overrun)
	for _, name := range slices.Sorted(maps.Keys(r.Close)) {
		row("Close, "+name, "s", r.Close[name])
	}
	row("10,000 hits over near-duplicates, collapsed", "s", r.Collapse)
	row("resident after adding, less before", "MiB", r.RSSIngest)
	row("… and in no file", "MiB", r.RSSIngestOwn)
	row("resident after opening", "MiB", r.RSS)
	row("most resident after an upsert", "MiB", r.RSSPeak)
	row("held beside the float32 vectors", "bytes a document", r.BytesPerVector)
	for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
		row("memory of "+name, "bytes a document", new(r.Parts[name]))
	}
	row("as JSON, without the vector", "bytes a document", r.JSONBytes)
	row("backup", "s", r.BackupSeconds)
	if r.DiskBytes != nil {
		fmt.Fprintf(t, "on disk\t%d bytes\n", *r.DiskBytes)
	}
	return t.Flush()
}
