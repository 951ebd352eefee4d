package bench

import "github.com/lexsem/lexsem/internal/bench/corpustest"

var (
	writeCorpus  = corpustest.Write
	corpusFolder = corpustest.Folder
	townCorpus   = corpustest.Town
)
