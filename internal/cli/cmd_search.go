package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/lexsem/lexsem/engine"
)

var cmdSearch = command{
	name:    "search",
	args:    "QUERY | --queries FILE.jsonl",
	summary: "find the passages nearest to a query",
	about: `
The query's vector is turned towards the words of the query by the best bridge there is:
rlr+slr after lexsem fit, else rlr, which needs no fit. --variant none searches with the plain
vector. Hits carry two numbers: the score, which ranks them, and the cosine of the plain one.

--queries takes BEIR's layout, {"_id": …, "text": …} a line. --format json prints one line a
query: {"query","mode","variant","took_ms","hits":[{"id","score","cosine","rank","title",
"text","metadata"}]}, and "query_id" with --queries. --format trec prints a run file.`,
	examples: []string{
		`lexsem search --db notes.db "how do I rotate the signing keys"`,
		`lexsem search --db papers.db --queries queries.jsonl -k 100 --format trec > run.trec`,
	},
	declare: func(f *flags) action {
		f.group("Flags")
		o := searchOptions{
			k:       f.int("k", 10, "hits a query"),
			mode:    f.str("mode", "auto", "`MODE`auto, or dense for the plain vector"),
			variant: f.str("variant", "", "`NAME`modulation: rlr, slr, rlr+slr or none; default the best that is fitted"),
			format:  f.str("format", "text", "`FORMAT`text, json or trec"),
			json:    f.bool("json", "the same as --format json"),
			queries: f.str("queries", "", "`FILE`queries as JSONL; - is standard input"),
			ef:      f.int("ef", 0, "candidate pool of an approximate index; default the index's own"),
		}
		return o.run
	},
}

type searchOptions struct {
	k, ef                          *int
	mode, variant, format, queries *string
	json                           *bool
}

// searchQuery is one query and its id in a file of queries.
type searchQuery struct{ id, text string }

// searchAnswer is one line of search --format json.
type searchAnswer struct {
	QueryID string      `json:"query_id,omitempty"`
	Query   string      `json:"query"`
	Mode    string      `json:"mode"`
	Variant string      `json:"variant"`
	TookMS  float64     `json:"took_ms"`
	Hits    []searchHit `json:"hits"`
}

type searchHit struct {
	ID       string         `json:"id"`
	Score    float32        `json:"score"`
	Cosine   float32        `json:"cosine"`
	Rank     int            `json:"rank"`
	Title    string         `json:"title,omitempty"`
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

func (o searchOptions) check(args []string) error {
	if *o.json {
		*o.format = "json"
	}
	switch {
	case !slices.Contains([]string{"auto", "dense"}, *o.mode):
		return hinted(usagef("this version has no search mode %q", *o.mode), "modes are auto and dense")
	case *o.mode == "dense" && *o.variant != "" && *o.variant != "none":
		return hinted(usagef("--mode dense searches with the plain vector, --variant %s does not", *o.variant), "leave one of them out")
	case !slices.Contains([]string{"text", "json", "trec"}, *o.format):
		return hinted(usagef("unknown format %q", *o.format), "formats are text, json and trec")
	case *o.k < 1 || *o.k > engine.MaxK:
		return usagef("-k %d: use a number from 1 to %d", *o.k, engine.MaxK)
	case *o.ef < 0:
		return usagef("--ef %d: use a positive number", *o.ef)
	case *o.queries != "" && len(args) > 0:
		return hinted(usagef("both a query and --queries"), "give one of them")
	case *o.queries == "" && len(args) == 0:
		return hinted(usagef("no query"), "give one in quotes, or a file with --queries")
	case len(args) > 1:
		return hinted(usagef("%d queries", len(args)), "put quotes around the query")
	case *o.queries == "" && blank(args[0]):
		return hinted(usagef("the query is empty"), "give some words")
	}
	return nil
}

func (o searchOptions) run(ctx context.Context, a *app, args []string) (err error) {
	if err := o.check(args); err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	queries := []searchQuery{{"1", ""}}
	if *o.queries == "" {
		queries[0].text = args[0]
	} else if queries, err = readQueries(a, *o.queries); err != nil {
		return err
	}
	db, err := a.openDB(ctx, dir, engine.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	out := bufio.NewWriter(a.Stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	p := a.progress()
	defer p.done()
	for i, q := range queries {
		if *o.queries != "" {
			p.update(step{stage: "searching", done: i, total: len(queries), unit: "queries"})
		}
		if err := o.one(ctx, a, db, q, out); err != nil {
			if *o.queries != "" {
				return fmt.Errorf("query %q: %w", q.id, err)
			}
			return err
		}
	}
	return nil
}

func (o searchOptions) one(ctx context.Context, a *app, db *database, q searchQuery, out io.Writer) error {
	begin := time.Now()
	variant := *o.variant
	if *o.mode == "dense" {
		variant = "none"
	}
	res, err := db.Search(ctx, engine.Query{Text: q.text, K: *o.k, Variant: variant, Ef: *o.ef})
	if errors.Is(err, engine.ErrInvalid) {
		return &usageError{msg: err.Error(), hint: "`lexsem help search` lists modes and variants"}
	}
	if err != nil {
		return err
	}
	took := time.Since(begin)
	switch *o.format {
	case "json":
		ans := searchAnswer{Query: q.text, Mode: *o.mode, Variant: res.Trace.Variant, TookMS: float64(took.Microseconds()) / 1000, Hits: []searchHit{}}
		if *o.queries != "" {
			ans.QueryID = q.id
		}
		for _, h := range res.Hits {
			ans.Hits = append(ans.Hits, searchHit{h.ID, h.Score, h.Cosine, h.Rank, h.Title, h.Text, h.Metadata})
		}
		return json.NewEncoder(out).Encode(ans)
	case "trec":
		for _, h := range res.Hits {
			if _, err := fmt.Fprintf(out, "%s Q0 %s %d %s lexsem-%s\n", trecField(q.id), trecField(h.ID), h.Rank,
				strconv.FormatFloat(float64(h.Score), 'g', -1, 32), res.Trace.Variant); err != nil {
				return err
			}
		}
		return nil
	}
	if *o.queries != "" {
		fmt.Fprintf(out, "%s\n", a.style(bold, q.id+": "+q.text))
	}
	writeHits(out, a, q.text, res)
	fmt.Fprintf(out, "%s\n", a.style(faint, fmt.Sprintf("%s · %s · %s", count(len(res.Hits), "hit", "hits"), variantName(res.Trace.Variant), millis(took))))
	return nil
}

func variantName(v string) string {
	if v == "none" {
		return "plain vector"
	}
	return "modulated by " + v
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// trecField keeps a run file's columns apart: white space inside an id becomes
// an underscore.
func trecField(s string) string {
	return whiteSpace.ReplaceAllString(s, "_")
}

// readQueries reads a file of queries in BEIR's layout.
func readQueries(a *app, name string) ([]searchQuery, error) {
	r := a.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	} else {
		name = "stdin"
	}
	var out []searchQuery
	err := eachLine(r, nil, func(n int, line []byte) error {
		fields, err := parseObject(line)
		if err != nil {
			return &badInput{fmt.Sprintf("%s:%d", name, n), err}
		}
		id, err := takeID(fields)
		if err != nil {
			return &badInput{fmt.Sprintf("%s:%d", name, n), err}
		}
		text, _ := fields["text"].(string)
		if blank(text) {
			return &badInput{fmt.Sprintf("%s:%d", name, n), errors.New(`no "text"; give the query some words`)}
		}
		out = append(out, searchQuery{id, text})
		return nil
	}, func(n int) error {
		return &badInput{fmt.Sprintf("%s:%d", name, n), fmt.Errorf("line longer than %d MiB", maxText>>20)}
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s: no queries in it", name)
	}
	return out, err
}
