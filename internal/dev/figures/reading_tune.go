package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// aim is how close constants come to their goal, as reported by bench tune.
type aim struct{ Objective, Mean, Lead, Short, Worst float64 }

type estimate struct{ Mean, Low, High float64 }

type tunePoint struct {
	Dev, Test aim
	TestMean  estimate `json:"test_mean"`
	TestLead  estimate `json:"test_lead"`
}

// readingTune returns the values of a choice of constants: system (or as), then dev,
// constant=value and its results; all, half, start or chosen, and their results; corpus,
// task, half, and the results of the best rival, the start and the chosen constants.
func readingTune(raw []byte, as string) (map[string]float64, error) {
	var r struct {
		System, Metric string
		Rows           []struct {
			Constant string
			Value    *float64
			Dev      aim
			Loss     float64
		}
		Start, Chosen tunePoint
		Gain          estimate
		Sets          []struct {
			Corpus, Task, Half  string
			Best, Start, Chosen float64
			StartLead           estimate `json:"start_lead"`
			ChosenLead          estimate `json:"chosen_lead"`
			Gain                estimate
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the choice of constants: %w", err)
	}
	as = cmp.Or(as, r.System)
	values := map[string]float64{}
	put := func(v float64, words ...string) { values[as+" "+strings.Join(words, " ")] = 100 * v }
	for _, row := range r.Rows {
		at := row.Constant + "=shipped" // which follows the corpus
		if row.Value != nil {
			at = row.Constant + "=" + strconv.FormatFloat(*row.Value, 'g', -1, 64)
		}
		put(row.Dev.Objective, "dev", at, "objective")
		put(row.Dev.Mean, "dev", at, "mean")
		put(row.Dev.Lead, "dev", at, "lead")
		put(row.Dev.Short, "dev", at, "below")
		put(row.Loss, "dev", at, "loses")
	}
	for name, p := range map[string]tunePoint{"start": r.Start, "chosen": r.Chosen} {
		for half, a := range map[string]aim{"dev": p.Dev, "test": p.Test} {
			put(a.Objective, "all", half, name, "objective")
			put(a.Mean, "all", half, name, "mean")
			put(a.Lead, "all", half, name, "lead")
			put(a.Short, "all", half, name, "below")
			put(a.Worst, "all", half, name, "worst")
		}
		put(p.TestMean.Low, "all", "test", name, "mean-low")
		put(p.TestMean.High, "all", "test", name, "mean-high")
		put(p.TestLead.Low, "all", "test", name, "lead-low")
		put(p.TestLead.High, "all", "test", name, "lead-high")
	}
	put(r.Gain.Mean, "all", "test", "gain")
	put(r.Gain.Low, "all", "test", "gain-low")
	put(r.Gain.High, "all", "test", "gain-high")
	for _, s := range r.Sets {
		put(s.Best, s.Corpus, s.Task, s.Half, "rival", r.Metric)
		put(s.Start, s.Corpus, s.Task, s.Half, "start", r.Metric)
		put(s.Chosen, s.Corpus, s.Task, s.Half, "chosen", r.Metric)
		put(s.StartLead.Mean, s.Corpus, s.Task, s.Half, "start", "lead")
		put(s.ChosenLead.Mean, s.Corpus, s.Task, s.Half, "chosen", "lead")
		put(s.Gain.Mean, s.Corpus, s.Task, s.Half, "gain")
	}
	return values, nil
}
