package bench

import (
	"cmp"
	"slices"
)

// Case is one query whose score differs between a system and dense.
type Case struct {
	Task   string `json:"task"`
	System string `json:"system"`
	ID     string `json:"id"`    // id of the query
	Query  string `json:"query"` // text of the query
	// Delta is the difference in ndcg@10. It is negative if the system is worse than dense.
	Delta float64 `json:"delta_ndcg@10"`
	// Want is the passage with the highest grade. DenseFirst and SystemFirst are the first hits of
	// dense and of the system. Texts are truncated.
	Want        caseText `json:"want"`
	DenseFirst  caseText `json:"dense_first"`
	SystemFirst caseText `json:"system_first"`
	// DenseRank and SystemRank are the ranks of the first positive, from 1. 0 means that no positive
	// was retrieved.
	DenseRank  int `json:"dense_rank"`
	SystemRank int `json:"system_rank"`
}

// caseText is a passage with its truncated text.
type caseText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// caseRunes is the length at which texts of cases are cut.
const caseRunes = 280

// cases finds, for each system, the n queries with the largest loss and the n with the
// largest gain against dense; ties go by query id.
func (p *plan) cases(task *Task, row []Result, n int) []Case {
	at := slices.IndexFunc(row, func(r Result) bool { return r.System == "dense" })
	if at < 0 || n <= 0 {
		return nil
	}
	dense := row[at]
	texts := map[string]string{}
	for i, members := range p.targets.Members {
		for _, id := range members {
			texts[id] = p.targets.Texts[i]
		}
	}
	queries := map[string]string{}
	for _, q := range task.Queries {
		queries[q.ID] = q.Text
	}
	show := func(id string) caseText {
		text := []rune(texts[id])
		if len(text) > caseRunes {
			text = append(text[:caseRunes], '…')
		}
		return caseText{ID: id, Text: string(text)}
	}
	var out []Case
	for i, r := range row {
		if i == at {
			continue
		}
		order := make([]int, len(r.ids))
		for j := range order {
			order[j] = j
		}
		delta := func(j int) float64 { return r.PerQuery[compareBy][j] - dense.PerQuery[compareBy][j] }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(delta(a), delta(b)) })
		pick := slices.Clone(order[:min(n, len(order))])
		for _, j := range slices.Backward(order) {
			if len(pick) == 2*n || slices.Contains(pick, j) {
				break
			}
			pick = append(pick, j)
		}
		for _, j := range pick {
			if delta(j) == 0 {
				continue
			}
			id := r.ids[j]
			out = append(out, Case{
				Task: task.Name, System: r.System, ID: id, Query: queries[id], Delta: delta(j), Want: show(task.Qrels.Best(id)),
				DenseFirst: show(dense.top[j]), SystemFirst: show(r.top[j]), DenseRank: dense.first[j], SystemRank: r.first[j],
			})
		}
	}
	return out
}

// firsts records for each query the first passage, its score, and the rank of the first
// positive.
func (r *Result) firsts(task *Task, rankings Rankings, ids []string) {
	r.ids = ids
	for _, q := range ids {
		top, best, first := "", nothingFound, 0
		for i, hit := range rankings[q] {
			if i == 0 {
				top, best = hit.ID, hit.Score
			}
			if task.Qrels[q][hit.ID] > 0 {
				first = i + 1
				break
			}
		}
		r.top, r.best, r.first = append(r.top, top), append(r.best, best), append(r.first, first)
	}
}
