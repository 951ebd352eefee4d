package command

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The demo's output is demoWidth columns wide: ranks and four columns.
const (
	demoColumn = 23
	demoWidth  = 4 + 4*demoColumn + 3
)

func writeDemo(a *app, dir string, s demoState, queries []demoQuery, reused bool, took time.Duration) {
	w := a.Stdout
	fmt.Fprintf(w, "%s\n", a.style(bold, fmt.Sprintf("%s passages from the documentation of %s · %s", thousands(s.Passages), s.Source.Go, s.Source.Model)))
	for _, q := range queries {
		if q.Kind == asked {
			continue
		}
		fmt.Fprintf(w, "\n%s %s\n", a.style(faint, padRight(q.Kind, 8)), a.style(bold, clipColumns(flat(q.Query), 90)))
		var head []string
		for _, way := range demoWays {
			head = append(head, padRight(way.title, demoColumn))
		}
		fmt.Fprintf(w, "    %s\n", a.style(faint, strings.TrimRight(strings.Join(head, " "), " ")))
		for rank := range 3 {
			line := fmt.Sprintf("  %s ", a.style(faint, fmt.Sprint(rank+1)))
			for _, way := range demoWays {
				c, cell := q.Hits[way.name], ""
				if rank < len(c) {
					cell = a.demoCell(c[rank], q.Target)
				} else {
					cell = strings.Repeat(" ", demoColumn)
				}
				line += cell + " "
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
		for i, line := range q.Best {
			if i == 0 {
				line = a.style(bold, clipColumns(flat(line), demoWidth-4))
			}
			fmt.Fprintf(w, "    %s\n", a.highlight(line, q.Query))
		}
	}
	a.writeAsked(queries)
	head := fmt.Sprintf("nDCG@1 on %d passages drawn with seed %d", demoProbes, demoSeed)
	head = padRight(head, 50)
	for _, way := range demoWays {
		head += fmt.Sprintf("  %s", way.title)
	}
	fmt.Fprintf(w, "\n%s\n", a.style(faint, head))
	explain := map[string]string{"keyword": "3 to 8 words of the passage, shuffled", "part:16": "16 words in a row"}
	for _, r := range s.Probes {
		line := fmt.Sprintf("  %-8s %-39s", r.Task, explain[r.Task])
		for _, way := range demoWays {
			line += fmt.Sprintf("  %*.1f", len(way.title), 100*r.NDCG1[way.name])
		}
		fmt.Fprintln(w, line)
	}
	c := s.Built
	fmt.Fprintf(w, "\nbuilt in %.0f s, %.0f CPU-seconds: indexing %.0f s, fitting on %s queries %.0f s, measuring %.0f s\n",
		c.WallSeconds, c.CPUSeconds, c.IndexSeconds, thousands(s.Fit.Queries), c.FitSeconds, c.MeasureSeconds)
	if reused {
		fmt.Fprintf(w, "reused what that run built; this one took %.1f s\n", took.Seconds())
	}
	fmt.Fprintf(w, "%s\n", a.style(faint, "database "+dir))
}

// writeAsked shows the first hits of the hybrid search for the questions that users asked, and how many are right by each
// way to search.
func (a *app) writeAsked(queries []demoQuery) {
	var lines []string
	right := map[string]int{}
	for _, q := range queries {
		if q.Kind != asked {
			continue
		}
		line := fmt.Sprintf("  %-48s", q.Query)
		for _, way := range demoWays {
			if len(q.Hits[way.name]) == 0 {
				continue
			}
			first := q.Hits[way.name][0]
			ok := slices.Contains(q.Right, first)
			if ok {
				right[way.name]++
			}
			if way.name == "hybrid" && ok {
				line += "  " + a.style(green, first+" ✓")
			} else if way.name == "hybrid" {
				line += "  " + first
			}
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return
	}
	var counts []string
	for _, way := range demoWays {
		counts = append(counts, fmt.Sprintf("%s %d", way.title, right[way.name]))
	}
	fmt.Fprintf(a.Stdout, "\n%s\n%s\nright first hits of %d questions: %s\n", a.style(faint, "questions that users asked in public, and the first hit of the hybrid search"),
		strings.Join(lines, "\n"), len(lines), strings.Join(counts, ", "))
}

// demoCell shows one hit: its id, cut on the left to the column's width, with a tick if
// it is the relevant passage.
func (a *app) demoCell(id, target string) string {
	hit := id == target
	room := demoColumn
	if hit {
		room -= 2
	}
	r := []rune(id)
	if len(r) > room {
		r = append([]rune("…"), r[len(r)-room+1:]...)
	}
	cell := string(r)
	if hit {
		return a.style(green, cell+" ✓") + strings.Repeat(" ", demoColumn-len(r)-2)
	}
	return padRight(cell, demoColumn)
}
