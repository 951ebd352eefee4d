// Package bench answers one question: how good is a retrieval system, and on
// what? It reads a judged corpus, makes further probes from the corpus itself,
// lets several systems that share one tokenizing, one encoding and one index
// answer them, scores the rankings and says which differences are more than
// chance.
//
// Tasks, metrics and systems stand in registries; each is added by one file
// (task_part.go, metric_mrr.go and system_dense.go are short examples).
package bench
