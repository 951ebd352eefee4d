package folder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/ingest/folder"
)

// TestProgress: a sync tells each file that it begins, and how far it is within a large file of records.
func TestProgress(t *testing.T) {
	b := newBase(t)
	var rows strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&rows, `{"_id":"%d","text":"%s"}`+"\n", i, strings.Repeat("walrus ", 40))
	}
	b.write(map[string]string{"a.txt": "first", "big.jsonl": rows.String(), "c.txt": "last"})
	begun := map[string]int{}
	within, before := 0, int64(0)
	b.synced(folder.Options{Progress: func(p folder.Progress) {
		if p.Stage != "sync" {
			return
		}
		begun[p.File]++
		if p.Bytes < before || p.Bytes > p.Size {
			t.Errorf("%d of %d bytes after %d", p.Bytes, p.Size, before)
		}
		if before = p.Bytes; p.Bytes > 10 && p.Bytes < int64(rows.Len()) {
			within++
		}
	}}, "+2002 ~0 -0 =0 read 3")
	if begun["a.txt"] == 0 || begun["big.jsonl"] == 0 || begun["c.txt"] == 0 || within < 3 || before != int64(rows.Len()+9) {
		t.Errorf("told files %v, %d times within the large one, at the end %d bytes", begun, within, before)
	}
}
