package bench

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ReadCorpora reads one folder (see ReadCorpus), or several separated by commas as one corpus: the
// union of their passages, queries and judgements. Ids in a union are prefixed with the folder's name
// and a colon. The name of the union is the folder names joined by "+". Two folders of the same name
// are ErrDuplicateID. A folder with a comma in its name can only be read alone.
func ReadCorpora(dirs string, o ReadOptions) (*Corpus, error) {
	parts := dataParts(dirs)
	if err := o.checkParts(parts); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return ReadCorpus(parts[0], o)
	}
	all := &Corpus{Qrels: Qrels{}, own: map[string]struct{}{}, absent: map[string]struct{}{}}
	var names []string
	for _, dir := range parts {
		c, err := ReadCorpus(dir, o)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, c.Name) {
			return nil, fmt.Errorf("%w: two folders are called %q; rename one of them", ErrDuplicateID, c.Name)
		}
		names = append(names, c.Name)
		prefix := c.Name + ":"
		for _, p := range c.Passages {
			p.ID = prefix + p.ID
			all.Passages = append(all.Passages, p)
		}
		for _, q := range c.Queries {
			q.ID = prefix + q.ID
			all.Queries = append(all.Queries, q)
		}
		for id := range c.own {
			all.own[prefix+id] = struct{}{}
		}
		for id := range c.absent {
			all.absent[prefix+id] = struct{}{}
		}
		all.lacks = cmp.Or(all.lacks, c.lacks)
		for query, judged := range c.Qrels {
			for passage, grade := range judged {
				if err := all.Qrels.Add(prefix+query, prefix+passage, grade); err != nil {
					return nil, err
				}
			}
		}
	}
	all.Name, all.Parts = strings.Join(names, "+"), names
	return all, nil
}

// dataParts splits data at commas into folders and files. A path that exists as a whole is not split.
func dataParts(data string) []string {
	if _, err := os.Stat(data); err == nil || !strings.Contains(data, ",") {
		return []string{data}
	}
	parts := strings.Split(data, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}
