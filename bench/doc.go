// Package bench measures how good a retrieval system is on a corpus. It reads a judged corpus, makes further
// probes from the passages, lets several systems answer them over one tokenization and one encoding, scores
// the rankings, and tells which differences are significant.
//
// Start with [Run], which returns a [Report]; package report shows it. Commands of lexsem bench also repeat Run for
// several seeds, amounts of training and sizes of the corpus, compare reports, choose constants, and measure images, a
// vector index alone, and a whole database under load; internal/bench has their packages.
//
// Tasks, metrics and systems are registered by name. One file adds one: task_part.go, metric_mrr.go and
// system_dense.go are short examples. Register only while packages are initialised, since registries have no
// lock. The results of Run, except times, depend only on corpus, encoder, options and seed.
package bench
