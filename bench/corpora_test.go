package bench

import "github.com/lexsem/lexsem/bench/internal/corpustest"

var (
	writeCorpus  = corpustest.Write
	corpusFolder = corpustest.Folder
	townCorpus   = corpustest.Town
)
