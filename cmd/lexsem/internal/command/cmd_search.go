package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/answer"
)

var cmdSearch = command{
	name:    "search",
	args:    "QUERY | --like ID | --queries FILE.jsonl",
	summary: "find the passages nearest to a query",
	about: `
Two retrievers look for hits: the vector of the query, and its words (BM25). The query vector is
modulated by the best bridge of the database: rlr, or a fitted bridge that was measured to be better.
--variant none leaves it plain. --mode auto fuses both retrievers by absolute scores, so one setting
serves questions, keywords and copied spans. lexical uses only the words and needs no model; dense uses
only the vector. --variant rlr-local takes local bridges; they are built for this search unless lexsem
fit --variant rlr-local has stored them.

A query of few words may have operators: "a phrase" and +word require, -word and -"a phrase" exclude,
prefix* finds longer words, title:word looks at titles. --plain takes the query as it is. Put -- before a
query that begins with -.

--like finds what resembles stored documents, without a query or with one for its words; --unlike moves
away from others. Both take an id, or ID:LINE for the chunk at a line of the document's text.

--filter tests metadata: = != < <= > >=, in [..], ^= (prefix), exists, and, or, not, and dots into nested
objects. Timestamps are compared as instants: time >= now-7d, time < "2024-01-01". id is the document's id.

--boost multiplies scores by 1 plus a weighted sum of what metadata give: recency(time, 30d) gives 1 to a
timestamp of now and 0.5 to one 30 days old, field(stars, 100) gives 0.5 to the number 100 and more to
greater ones. The weight is 0.2; 0.5*field(stars, 100) has another, and - lowers scores. --sort orders hits
by a field: the 100 best ones, with --mode lexical the 10,000 best. --group-by limits the hits of each value.

Hits carry the score that ranks them, the estimated probability that they are relevant (absent for --image,
--like, and models other than the default unless --mode is lexical), the cosine of the plain vector,
presence (term recall: the share of the query's words, by weight, that the passage has), pair (bigram match: the share of its adjacent word pairs) and coverage
(normalised BM25: BM25 divided by the most that BM25 can give the query). Where no hit reaches 0.1, the
output says "probably not here".

--rerank names a second stage that reads the first hits and orders them anew: a cross-encoder in a folder
or at an address. "score" is still the score before it, and --collapse and thresholds use it; "rerank" is
the score of the second stage.

A word that neither the database nor the model knows is also searched for as repaired, by the database's
own words; the output then says "for:". --exact searches for the words as they are typed, and double quotes
round a word do so for that word.

Where a document has a phrase in quotes, or a name that is all of the query, byte for byte, one of the first ten
hits has it; in source code, also a name among other words. --places prints all lines of all documents that have it, as
path:line:text: the phrase in quotes, or without one the query. Where the phrase begins or ends with a letter, a digit or
an underscore, none stands next to it. A hit whose file has changed or gone since it was stored says so; in JSON,
"stale_ids" names it, and "places" has {"line","text"} of each line.

--queries takes BEIR's layout, {"_id": …, "text": …} on each line. --format json prints one line per
query: {"query","mode","variant","took_ms","hits":[{"id","score","probability","cosine",
"coverage","rank","title","text","metadata","presence","pair","chunk","chunks","start","end",
"path","lines","span","duplicates","rerank"}]}, also "for", the query with its mistyped words
repaired; "required" and "excluded", its operators, and "unmet", quoted phrases that no document has;
"reranked", the number of hits that were reranked; and "query_id" with --queries.

path and lines, [from,to], name the file of a document and where in it text stands. If a document is
stored in chunks, text is the chunk that was found: number chunk, from 0, of chunks, bytes start to end of
the document's text. span, {"start","end","first_line","last_line"}, is the part of text that answers best,
in bytes of the document's text and in lines of the file, or of the text if there is no file. It is left
out if text has nothing of the query. With --collapse, duplicates names the documents that share four
fifths of their word pairs with a better hit. --format trec prints a run file; with --rerank or --sort its
scores are 1/rank, because readers order hits by them.`,
	examples: []string{
		`lexsem search --db notes.db "how do I rotate the signing keys"`,
		`lexsem search --db papers.db --filter 'year >= 2024' --queries queries.jsonl -k 100 --format trec > run.trec`,
	},
	declare: func(f *flags) action {
		o := searchOptions{
			second:  declareRerank(f),
			k:       f.int("k", 10, "hits per query; with --places, most documents, by default 10,000"),
			way:     declareWay(f, "only documents whose metadata match this filter: lang = \"go\" and year >= 2020", "modulation: rlr-local, rlr, rlr+whiten, slr, rlr+slr or none; default the best that the database has"),
			format:  f.str("format", "text", "`FORMAT`text, json or trec"),
			json:    f.bool("json", "the same as --format json"),
			image:   f.str("image", "", "`FILE`an image as the query, for a database of images; - is standard input"),
			like:    f.strs("like", "`ID`a document that the hits are to resemble; repeatable"),
			unlike:  f.strs("unlike", "`ID`a document that the hits are not to resemble; repeatable"),
			queries: f.str("queries", "", "`FILE`queries as JSONL; - is standard input"),
			given:   f.given,
			places:  f.bool("places", "find every document whose text has the query, or its phrase in quotes, byte for byte, and print all lines of it"),
			chunks:  f.bool("per-chunk", "make every chunk of a long document a hit of its own; without it, a document is one hit"),
			fold:    f.bool("collapse", "show only the best of near-duplicates"),
			sort:    f.str("sort", "", "`ORDER`order the hits by a field of metadata instead of their scores: time desc"),
			group:   f.str("group-by", "", "`FIELD`show at most --per-group hits of each value of a metadata field"),
			each:    f.int("per-group", 0, "hits of each value of --group-by; default 1"),
			ef:      f.int("ef", 0, "candidate pool of an approximate index; default the index's own"),
		}
		return o.run
	},
}

type searchOptions struct {
	way
	second             rerankFlags
	k, ef, each        *int
	sort, group        *string
	format, queries    *string
	image              *string
	like, unlike       *[]string
	json, chunks, fold *bool
	places             *bool
	given              func(flag string) bool
}

// way holds the flags of search and explain that choose how a query is answered.
type way struct {
	mode, fusion, filter, variant *string
	share, beta                   *float64
	plain, exact                  *bool
	boost                         *string
}

func declareWay(f *flags, filter, variant string) way {
	return way{
		mode:    f.str("mode", "auto", "`MODE`auto, dense, lexical or hybrid"),
		fusion:  f.str("fusion", "", "`KIND`how hybrid combines its retrievers: calibrated, rrf or convex; default calibrated, or rrf with metric dot or l2"),
		filter:  f.str("filter", "", "`EXPR`"+filter),
		share:   f.float("presence", 0, "weight of term recall in calibrated fusion; default 0.25, in source code 0.5; below 0 none"),
		beta:    f.float("beta", 0, "weight of normalised BM25 in calibrated fusion; default 0.1; below 0 none"),
		variant: f.str("variant", "", "`NAME`"+variant),
		plain:   f.bool("plain", "take the query as it is, without operators"),
		exact:   f.bool("exact", "search for the words as they are typed; without it, mistyped words are also searched for as repaired"),
		boost:   f.str("boost", "", "`EXPR`raise or lower scores by metadata: recency(time, 30d) + 0.5*field(stars, 100)"),
	}
}

func (o way) check() error {
	switch {
	case !slices.Contains(searchModes, *o.mode):
		return pointed("--mode", *o.mode, searchModes)
	case *o.fusion != "" && !slices.Contains(fusions, *o.fusion):
		return pointed("--fusion", *o.fusion, fusions)
	case *o.mode == engine.ModeLexical && *o.variant != "":
		return hinted(usagef("--mode lexical has no query vector for --variant %s", *o.variant), "leave one of them out")
	case !(*o.share >= -1000 && *o.share <= 1000):
		return usagef("--presence %v: use a number up to 1000, 0 for the default, or a number below 0 for none", *o.share)
	case !(*o.beta >= -1000 && *o.beta <= 1000):
		return usagef("--beta %v: use a number up to 1000, 0 for the default, or a number below 0 for none", *o.beta)
	case *o.boost != "":
		_, err := filter.ParseBoosts(*o.boost)
		return err
	}
	return nil
}

// query makes the query of one text from the flags.
func (o way) query(text string, filter engine.Filter) engine.Query {
	return engine.Query{Text: text, Plain: *o.plain, Exact: *o.exact, Boost: *o.boost, Mode: *o.mode, Variant: *o.variant, Filter: filter,
		Fusion: fusion.Options{Kind: *o.fusion, Presence: *o.share, Beta: *o.beta}}
}

// local reports whether the flags request local bridges.
func (o way) local() bool {
	return slices.ContainsFunc(strings.Split(*o.variant, "+"), func(s string) bool { return strings.TrimSpace(s) == engine.VariantLocal })
}

// checkText refuses args that are not one query.
func checkText(args []string, remedy string) error {
	switch {
	case len(args) == 0:
		return hinted(usagef("no query"), remedy)
	case len(args) > 1:
		return hinted(usagef("%d queries", len(args)), "put quotes around the query")
	case blank(args[0]):
		return hinted(usagef("the query is empty"), "give some words")
	}
	return nil
}

func (o searchOptions) check(args []string) error {
	if *o.json {
		*o.format = "json"
	}
	if err := o.way.check(); err != nil {
		return err
	}
	if *o.sort != "" {
		if _, err := filter.ParseSort(*o.sort); err != nil {
			return err
		}
	}
	switch {
	case !slices.Contains([]string{"text", "json", "trec"}, *o.format):
		return hinted(usagef("unknown format %q", *o.format), "formats are text, json and trec")
	case *o.chunks && *o.format == "trec":
		return hinted(usagef("--per-chunk with --format trec: a run file ranks each document once"), "leave one of them out")
	case *o.k < 1 || *o.k > engine.MaxK:
		return usagef("-k %d: use a number from 1 to %d", *o.k, engine.MaxK)
	case *o.places && (*o.format == "trec" || *o.image != "" || len(*o.like)+len(*o.unlike) > 0):
		return hinted(usagef("--places with --format trec, --image, --like or --unlike"), "--places finds the lines that have a text, without ranking; leave the others out")
	case *o.ef < 0:
		return usagef("--ef %d: use a positive number", *o.ef)
	case *o.each < 0 || *o.each > 0 && *o.group == "":
		return hinted(usagef("--per-group %d", *o.each), "use a number of 1 or more, with --group-by FIELD")
	case *o.queries != "" && len(args) > 0:
		return hinted(usagef("both a query and --queries"), "give one of them")
	case *o.image != "" && (len(args) > 0 || *o.queries != ""):
		return hinted(usagef("both --image and another query"), "give one of them")
	case len(*o.like)+len(*o.unlike) > 0 && (*o.image != "" || *o.queries != ""):
		return hinted(usagef("--like or --unlike with --image or --queries"), "leave one of them out")
	case len(*o.like) > 0 && len(args) == 0:
	case *o.queries == "" && *o.image == "":
		return checkText(args, "give one, in quotes, or a file with --queries")
	}
	return nil
}

// fewerCollections lets the heap grow before garbage is collected, unless GOGC is set: most memory of a search is used
// to its end, and collections take a tenth of the time of opening.
func fewerCollections() { setGCPercent(400) }

// moreCollections is for processes that stay: buffers of collections come and go, and with 100 they would be in memory
// twice. 20 takes 8 % more processor time than 33.
func moreCollections() { setGCPercent(25) }

// setGCPercent sets GOGC, unless the user has set it.
func setGCPercent(n int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(n)
	}
}

func (o searchOptions) run(ctx context.Context, a *app, args []string) (err error) {
	if err := o.check(args); err != nil {
		return err
	}
	filter, err := answer.Filter(*o.filter)
	if err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	var image []byte
	queries := []namedText{{id: "1"}}
	if *o.image != "" {
		queries[0].text = *o.image
		if image, err = readImage(a, *o.image); err != nil {
			return err
		}
	} else if *o.queries == "" {
		queries[0].text = strings.Join(args, "") // none with --like
	} else if queries, err = readQueries(ctx, a, *o.queries); err != nil {
		return err
	}
	if a.few = *o.queries == ""; a.few {
		fewerCollections()
	}
	second, closeSecond, err := a.reranker(ctx, o.second)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSecond()) }()
	if *o.places { // needs no model
		*o.mode = engine.ModeLexical
	}
	db, err := a.openFresh(ctx, dir, o.way)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	searched := engine.WithReranker(db, second, 0)
	out := bufio.NewWriter(a.Stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	p := a.progress()
	defer p.done()
	for i, q := range queries {
		if *o.queries != "" {
			p.update(step{stage: "searching", done: i, total: len(queries), unit: "queries"})
		}
		if err := o.one(ctx, a, searched, q, image, filter, out); err != nil {
			if *o.queries != "" {
				return fmt.Errorf("query %q: %w", q.id, err)
			}
			return err
		}
	}
	return nil
}

// one runs one query: a text, or an image whose file the text names.
func (o searchOptions) one(ctx context.Context, a *app, db engine.Database, q namedText, image []byte, filter engine.Filter, out io.Writer) error {
	begin := time.Now()
	query := o.query(q.text, filter)
	if image != nil {
		query.Text, query.Image = "", image
	}
	query.Like, query.Unlike = *o.like, *o.unlike
	query.Places = *o.places
	query.K, query.Ef, query.PerChunk, query.Collapse, query.Rerank = *o.k, *o.ef, *o.chunks, *o.fold, *o.second.depth
	query.Sort, query.GroupBy, query.PerGroup = *o.sort, *o.group, *o.each
	if query.Spans = *o.format != "trec" && !query.Places; query.Places && !o.given("k") {
		query.K = engine.MaxK
	}
	res, err := db.Search(ctx, query)
	if err == nil && o.local() && res.Trace.LocalWanted { // of another process, which builds them now
		if err = db.Flush(ctx); err == nil {
			begin = time.Now()
			res, err = db.Search(ctx, query)
		}
	}
	if err != nil {
		return searchError(err)
	}
	took := time.Since(begin)
	if len(res.Hits) == 0 {
		if err := a.unmet(ctx, db, filter); err != nil {
			return err
		}
	}
	switch *o.format {
	case "json":
		ans := answer.NewSearch(q.text, res, took)
		if *o.queries != "" {
			ans.QueryID = q.id
		}
		return json.NewEncoder(out).Encode(struct {
			answer.Search
			Stale []string `json:"stale_ids,omitempty"`
		}{ans, staleIDs(res.Hits)})
	case "trec":
		second, ranked := "", make([]bench.Ranked, len(res.Hits))
		if res.Trace.Reranked > 0 {
			second = "-rerank"
		}
		for i, h := range res.Hits {
			ranked[i] = bench.Ranked{ID: h.ID, Score: float64(h.Score)}
			if second != "" || *o.sort != "" { // readers of run files sort by the score
				ranked[i].Score = 1 / float64(h.Rank)
			}
		}
		return bench.WriteRun(out, "lexsem-"+res.Trace.Mode+"-"+res.Trace.Variant+second, q.id, ranked)
	}
	if *o.queries != "" {
		fmt.Fprintf(out, "%s\n", a.style(bold, q.id+": "+q.text))
	}
	if query.Places {
		return writePlaces(out, a, res, query.K)
	}
	writeFor(out, a, res.For)
	if answer.Unlikely(res.Hits) {
		fmt.Fprintln(out, "probably not here: no hit is likely to be relevant")
	}
	writeHits(out, a, cmp.Or(res.For, q.text), res)
	hits := count(len(res.Hits), "hit", "hits")
	if answer.MorePassages(query, res.Hits) {
		hits += " (--per-chunk shows more passages)"
	}
	fmt.Fprintf(out, "%s\n", a.style(faint, fmt.Sprintf("%s · %s · %s", hits, wayName(res.Trace), millis(took))))
	return nil
}

// searchError turns errors that other flags can avoid into usage errors.
func searchError(err error) error {
	if errors.Is(err, engine.ErrInvalid) {
		return &usageError{msg: err.Error(), hint: "`lexsem help search` lists modes and variants"}
	}
	return err
}

// wayName describes in a few words how hits were found.
func wayName(t engine.Trace) string {
	way := "plain vector"
	if t.Variant != engine.VariantNone {
		way = "vector modulated by " + t.Variant
	}
	switch t.Mode {
	case engine.ModeLexical:
		way = "words alone"
	case engine.ModeHybrid:
		way += ", fused with words"
	}
	if t.Reranked > 0 {
		way += fmt.Sprintf(", the first %d reranked", t.Reranked)
	}
	if len(t.Required) > 0 {
		way += " · only with " + strings.Join(t.Required, ", ")
	}
	if len(t.Excluded) > 0 {
		way += " · without " + strings.Join(t.Excluded, ", ")
	}
	if len(t.Unmet) > 0 {
		way += " · no document has " + strings.Join(t.Unmet, ", ")
	}
	if t.Waiting > 0 {
		way += fmt.Sprintf(" · %s of %s passages have vectors", thousands(t.Passages-t.Waiting), thousands(t.Passages))
	}
	if t.Unknown >= 0.1 && t.Mode != engine.ModeLexical {
		way += fmt.Sprintf(" · the model does not know %.0f %% of the query", 100*t.Unknown)
	}
	return way
}

var (
	searchModes = []string{engine.ModeAuto, engine.ModeDense, engine.ModeLexical, engine.ModeHybrid}
	fusions     = []string{fusion.Calibrated, fusion.RRF, fusion.Convex}
)

// pointed refuses the value of a flag, and marks the first character that differs from
// the nearest known value.
func pointed(flag, value string, known []string) error {
	at, near := 0, known[0]
	for _, k := range known {
		n := 0
		for n < len(k) && n < len(value) && k[n] == value[n] {
			n++
		}
		if n > at {
			at, near = n, k
		}
	}
	return hinted(usagef("%s %s: unknown from character %d on (%q); the nearest is %s", flag, value, at+1, value[at:], near),
		"known are "+strings.Join(known, ", "))
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// readQueries reads a file of queries in BEIR's layout.
func readQueries(ctx context.Context, a *app, name string) ([]namedText, error) {
	r, err := a.input(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if name == "-" {
		name = "stdin"
	}
	var out []namedText
	at := map[string]int{}
	err = eachText(ctx, r, name, func(line int, d engine.Document) error {
		if blank(d.Text) {
			return errNoWords
		}
		if first, twice := at[d.ID]; twice {
			return fmt.Errorf("query %q stands on line %d already; give each query its own id", d.ID, first)
		}
		at[d.ID] = line
		out = append(out, namedText{id: d.ID, text: d.Text})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no queries in it", name)
	}
	return out, nil
}

var errNoWords = errors.New(`no "text"; give it some words`)

// eachText calls fn with each object of JSONL and its line. Errors name the file and the line.
func eachText(ctx context.Context, r io.Reader, name string, fn func(line int, d engine.Document) error) error {
	for rec, err := range files.ReadStream(ctx, r, "", files.Options{Kind: "jsonl", DropVectors: true}) {
		var one *files.RecordError
		switch {
		case errors.As(err, &one) && errors.Is(err, files.ErrNoText):
			return &badInput{name, one.Line, errNoWords}
		case one != nil:
			return &badInput{name, one.Line, one.Err}
		case errors.Is(err, files.ErrNoText): // an empty file
			return nil
		case err != nil:
			return err
		}
		if err := fn(rec.From, rec.Document); err != nil {
			return &badInput{name, rec.From, err}
		}
	}
	return nil
}
