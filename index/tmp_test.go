package index_test

import (
	"testing"

	"github.com/lexsem/lexsem/index"
)

func reload(t *testing.T, ix index.Index, o index.Options) index.Index { return ix }
