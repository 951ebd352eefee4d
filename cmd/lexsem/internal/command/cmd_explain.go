package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/internal/answer"
)

var cmdExplain = command{
	name:    "explain",
	args:    "QUERY | --like ID",
	summary: "show why a document is found: words, tokens and dimensions",
	about: `
Shows what the score of one document is made of: the cosine of the query vector; coverage
(normalised BM25), presence (term recall), near (that of the best 24 words in a row), pair (bigram
match) and title (title match) of the words; the part of each word in BM25; what
modulation added for each token; the dimensions of the vector that changed the cosine most; and the
places in the text where words of the query stand. If token states are kept (lexsem tokens), it also
shows which word of the text answers each word of the query. Without --id the first hit is explained.
Of a document in several chunks the best chunk is explained.

The shares of the tokens add up to the total change by modulation. For RLR and local bridges they
are exact. The softmax of a fitted bridge is not linear; its change is divided along the path from no
modulation to full modulation. For small changes this is the first-order share.

--json prints {"query","mode","variant","id","title","rank","chunk","chunks","start","end",
"score","probability","cosine","modulated","bm25","coverage","presence","near","pair","title_match",
"terms":[{"name","weight","value"}],
"words":[{"term","start","end","count","documents","idf","bm25","coverage","most"}],
"pairs":[{"first","second","share","found"}],"attributed","plain","bias",
"tokens":[{"id","token","start","end","shift","scale"}],
"dimensions":[{"dimension","before","after"}],"matches":[{"field","start","end","term"}],"token_score",
"ties":[{"word","start","end","weight","match","field","match_start","match_end","cosine"}]}. "ties" is
the token alignment. "for" is the query with its mistyped words repaired, if it has some; "required",
"excluded" and "unmet" are its operators. With --rerank, "rerank" is the score of the second stage,
"reranked" the number of hits that it read, and "rank" the rank after it. Offsets are bytes: those of
words and tokens in the query, those of matches in the document's title or text. Rank 0 means that no
retriever has the document among its candidates.`,
	examples: []string{
		`lexsem explain --db notes.db --id keys.md "how do I rotate the signing keys"`,
		`lexsem explain --db notes.db --json "ERR_CONN_RESET"`,
	},
	declare: func(f *flags) action {
		o := explainOptions{
			image:  f.str("image", "", "`FILE`an image as the query, for a database of images"),
			draw:   f.outFile("picture", "", "`FILE`write a PNG of the query and the document whose patches are as bright as their share of the score; for a database of images"),
			like:   f.strs("like", "`ID`a document that the hits were to resemble; repeatable"),
			unlike: f.strs("unlike", "`ID`a document that the hits were not to resemble; repeatable"),
			id:     f.str("id", "", "`ID`document to explain; default the first hit"),
			second: declareRerank(f),
			way:    declareWay(f, "filter of the search, as in lexsem search", "modulation; default the best that the database has"),
			json:   f.bool("json", "print one JSON object"),
		}
		return o.run
	},
}

type explainOptions struct {
	way
	second rerankFlags
	id     *string
	image  *string
	like   *[]string
	unlike *[]string
	draw   *string
	json   *bool
}

func (o explainOptions) run(ctx context.Context, a *app, args []string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	switch {
	case *o.image != "" && len(args) > 0:
		return hinted(usagef("both --image and another query"), "give one of them")
	case *o.image != "" && len(*o.like)+len(*o.unlike) > 0:
		return hinted(usagef("--like or --unlike with --image"), "leave one of them out")
	case len(*o.like) > 0 && len(args) == 0:
	case *o.image == "":
		if err := checkText(args, "give one, in quotes"); err != nil {
			return err
		}
	}
	filter, err := answer.Filter(*o.filter)
	if err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	second, closeSecond, err := a.reranker(ctx, o.second)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSecond()) }()
	a.few = true
	held, err := a.openFresh(ctx, dir, o.way)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.close()) }()
	db := engine.WithReranker(held, second, 0)
	name := *o.image
	if name == "" {
		name = strings.Join(args, "") // none with --like
	}
	q := o.query(name, filter)
	q.Like, q.Unlike = *o.like, *o.unlike
	if *o.image != "" {
		q.Text = ""
		if q.Image, err = readImage(a, *o.image); err != nil {
			return err
		}
	}
	q.K, q.Rerank = 1, *o.second.depth
	id := *o.id
	if id == "" {
		res, err := db.Search(ctx, q)
		if err != nil {
			return searchError(err)
		}
		if len(res.Hits) == 0 {
			return fmt.Errorf("no hit to explain: %s: %w", whyNone(res.Trace), engine.ErrNotFound)
		}
		id = res.Hits[0].ID
	}
	q.Spans, q.Picture = true, *o.draw != ""
	x, err := db.Explain(ctx, q, id)
	if err == nil && o.local() && x.Trace.LocalWanted { // of another process, which builds them now
		if err = db.Flush(ctx); err == nil {
			x, err = db.Explain(ctx, q, id)
		}
	}
	if err != nil {
		return searchError(err)
	}
	if *o.draw != "" {
		if err := writeFile(*o.draw, func(w io.Writer) error { _, err := w.Write(x.Picture); return err }); err != nil {
			return err
		}
		x.Picture = nil // it is in the file
	}
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(answer.NewExplanation(name, x))
	}
	out := bufio.NewWriter(a.Stdout)
	writeFor(out, a, x.For)
	writeExplanation(out, a, cmp.Or(x.For, name), x)
	return out.Flush()
}

// writeExplanation prints an explanation for people.
func writeExplanation(w io.Writer, a *app, query string, x engine.Explanation) {
	width := min(a.Width, 100)
	place := "not among the candidates of any retriever"
	if x.Rank > 0 {
		place = fmt.Sprintf("rank %d", x.Rank)
	}
	if x.Chunks > 1 {
		place += fmt.Sprintf(" · chunk %d of %d", x.Chunk+1, x.Chunks)
	}
	fmt.Fprintf(w, "%s  %s\n", a.style(bold, clipColumns(flat(x.ID), width/2)), a.style(faint, place+" · "+wayName(x.Trace)))
	if x.Title != "" {
		fmt.Fprintf(w, "    %s\n", clipColumns(flat(x.Title), width-4))
	}
	for _, line := range snippet(x.Hit, width-4, 2) {
		fmt.Fprintf(w, "    %s\n", a.highlight(line, query))
	}
	fmt.Fprintf(w, "\n%-10s %.4f", "score", x.Score)
	for i, t := range x.Terms {
		sign := " +"
		if i == 0 {
			sign = " ="
		}
		if t.Weight == 1 {
			fmt.Fprintf(w, "%s %s %.4f", sign, t.Name, t.Value)
		} else {
			fmt.Fprintf(w, "%s %.4g × %s %.4f", sign, t.Weight, t.Name, t.Value)
		}
	}
	fmt.Fprintln(w)
	switch {
	case x.Reranked:
		fmt.Fprintf(w, "%-10s %.4f, which decides among the first %d\n", "rerank", x.Rerank, x.Trace.Reranked)
	case x.Trace.Reranked > 0:
		fmt.Fprintf(w, "%-10s not among the first %d, which were reranked\n", "rerank", x.Trace.Reranked)
	}
	if x.Probability > 0 {
		fmt.Fprintf(w, "%-10s with a probability of about %.2f\n", "relevant", x.Probability)
	}
	if x.Trace.Mode != engine.ModeLexical {
		fmt.Fprintf(w, "%-10s %.4f of the plain vector", "cosine", x.Cosine)
		if x.Trace.Variant != engine.VariantNone {
			fmt.Fprintf(w, ", %.4f of the modulated one", x.Modulated)
		}
		fmt.Fprintln(w)
	}
	writeWords(w, a, x)
	writeTies(w, a, x)
	writeTokens(w, a, x)
	if len(x.Dimensions) > 0 {
		fmt.Fprintf(w, "\n%s\n", a.style(faint, "dimension   before    after"))
		for _, d := range x.Dimensions {
			fmt.Fprintf(w, "%9d %+8.4f %+8.4f\n", d.Dimension, d.Before, d.After)
		}
	}
	if len(x.Matches) > 0 {
		var places []string
		for _, m := range x.Matches {
			places = append(places, fmt.Sprintf("%s %s:%d-%d", m.Term, m.Field, m.Start, m.End))
		}
		fmt.Fprintf(w, "\n%s %s\n", a.style(faint, "found at"), strings.Join(places, ", "))
	}
}

func writeWords(w io.Writer, a *app, x engine.Explanation) {
	if len(x.Words) == 0 {
		return
	}
	fmt.Fprintf(w, "%-10s %.4f, bm25 %.3f; at most, and reached, by word:\n\n", "coverage", x.Coverage, x.BM25)
	fmt.Fprintf(w, "%s\n", a.style(faint, "word                     times  in texts    idf   most  reached"))
	for _, t := range x.Words {
		fmt.Fprintf(w, "%s %6d %9s %6.2f %6.3f   %6.3f\n", padColumns(flat(t.Term)), t.Count, thousands(t.Documents), t.IDF, t.Most, t.Coverage)
	}
	var found, missing []string
	for _, p := range x.Pairs {
		pair := flat(p.First + " " + p.Second)
		if p.Found {
			found = append(found, pair)
		} else {
			missing = append(missing, pair)
		}
	}
	if len(found)+len(missing) > 0 {
		fmt.Fprintf(w, "\n%-10s %.4f", "pairs", x.Pair)
		if len(found) > 0 {
			fmt.Fprintf(w, ", found: %s", strings.Join(found, ", "))
		}
		if len(missing) > 0 {
			fmt.Fprintf(w, "; not found: %s", strings.Join(missing, ", "))
		}
		fmt.Fprintln(w)
	}
}

func writeTies(w io.Writer, a *app, x engine.Explanation) {
	if len(x.Ties) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-10s %.4f; the word of the text that answers each word of the query:\n\n", "tokens", x.TokenScore)
	fmt.Fprintf(w, "%s\n", a.style(faint, "word                     answered by              cosine  weight"))
	for _, t := range x.Ties {
		fmt.Fprintf(w, "%s %s %6.3f  %6.3f\n", padColumns(flat(t.Word)), padColumns(flat(t.Match)), t.Cosine, t.Weight)
	}
}

func writeTokens(w io.Writer, a *app, x engine.Explanation) {
	if !x.Attributed || len(x.Tokens) == 0 {
		return
	}
	tokens := slices.Clone(x.Tokens)
	slices.SortStableFunc(tokens, func(a, b explain.Token) int {
		return cmp.Compare(math.Abs(b.Shift+b.Scale), math.Abs(a.Shift+a.Scale))
	})
	fmt.Fprintf(w, "\n%s\n", a.style(faint, "token                       adds    exact  by softmax"))
	fmt.Fprintf(w, "%s %+8.4f\n", padColumns("(the plain vector)"), x.Plain+x.Bias)
	for _, t := range tokens {
		fmt.Fprintf(w, "%s %+8.4f %+8.4f    %+8.4f\n", padColumns(flat(t.Token)), t.Shift+t.Scale, t.Shift, t.Scale)
	}
}

// padColumns brings s to 24 columns.
func padColumns(s string) string {
	const n = 24
	s = clipColumns(s, n)
	return s + strings.Repeat(" ", max(0, n-len([]rune(s))))
}
