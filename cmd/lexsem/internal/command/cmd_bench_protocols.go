package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/bench/report"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/limit"
	"github.com/lexsem/lexsem/internal/bench/sure"
)

// protocolFlags are the flags of the protocols of papers.
type protocolFlags struct {
	data, systems, cache, json *string
	language                   *string // nil where texts have none
	seed                       *uint64
	perPassage                 *int
	limit                      *int // nil where all queries are used
}

func declareProtocol(f *flags, systems string) *protocolFlags {
	return &protocolFlags{
		data:       f.str("data", "", "`DIR`folder of the data; separate several by commas"),
		systems:    f.str("systems", systems, "`LIST`systems, as `lexsem help bench flags` lists them"),
		seed:       f.seed("seed of fits, draws and tests"),
		perPassage: f.int("queries-per-passage", 10, "training queries of a fit per passage"),
		cache:      f.str("encodings", "", "`DIR`folder in which encodings and fitted bridges are kept for the next run"),
		json:       f.outFile("json", "", "`FILE`write the report as JSON; - prints it instead of the table"),
	}
}

// declareLanguage adds the flag for the language of the texts.
func (p *protocolFlags) declareLanguage(f *flags) *protocolFlags {
	p.language = f.str("language", "", languageUsage)
	return p
}

// declareLimit adds the flag that limits the number of queries.
func (p *protocolFlags) declareLimit(f *flags, usage string) *protocolFlags {
	p.limit = f.int("queries-limit", 0, usage)
	return p
}

// folders checks the flags and returns the folders of --data. It checks that they exist
// before a model is opened or fetched.
func (p *protocolFlags) folders() ([]string, error) {
	switch dirs := list(*p.data); {
	case len(dirs) == 0:
		return nil, hinted(usagef("no data given"), "name its folder with --data DIR; docs/data.md says what it holds")
	case *p.perPassage < 1:
		return nil, usagef("--queries-per-passage: use a number from 1")
	case p.limit != nil && *p.limit < 0:
		return nil, usagef("--queries-limit: use a number from 0")
	default:
		return dirs, (bench.ReadOptions{}).Check(strings.Join(dirs, ","))
	}
}

// measure opens the encoder and calls fn with it and the setting that the flags describe.
func (p *protocolFlags) measure(ctx context.Context, a *app, fn func(encoder.Encoder, bench.SettingOptions) error) error {
	return a.measured(ctx, func(enc encoder.Encoder, progress func(bench.Progress)) error {
		return fn(enc, p.setting(progress))
	})
}

func (p *protocolFlags) setting(progress func(bench.Progress)) bench.SettingOptions {
	o := bench.SettingOptions{Seed: *p.seed, QueriesPerPassage: *p.perPassage, CacheDir: *p.cache, Progress: progress}
	if p.language != nil {
		o.Language = *p.language
	}
	return o
}

// judged runs the judged queries of each folder; shape changes the options.
func (p *protocolFlags) judged(ctx context.Context, a *app, dirs, metrics []string, shape func(*bench.Options)) ([]*bench.Report, error) {
	var reports []*bench.Report
	err := p.measure(ctx, a, func(enc encoder.Encoder, s bench.SettingOptions) error {
		for _, dir := range dirs {
			o := bench.Options{
				ChunkTokens: -1, // papers give models whole texts
				Data:        dir, Systems: list(*p.systems), Tasks: []string{"query"}, Metrics: metrics, Seed: s.Seed,
				QueriesPerPassage: s.QueriesPerPassage, CacheDir: s.CacheDir, Language: s.Language, Version: versions().Version, Progress: s.Progress,
			}
			shape(&o)
			rep, err := bench.Run(ctx, enc, o)
			if err != nil {
				return err
			}
			reports = append(reports, rep)
		}
		return nil
	})
	return reports, err
}

var cmdBenchSURE = command{
	name:    "bench sure",
	summary: "SURE: are texts of one meaning near each other?",
	about: `
Ranks passages together with rewritten versions of them (variants/*.jsonl) and scores the ranks of
each query's own passage and versions. RDC compares their spread with the reference; ROC is the
share of pairs in the order of the reference. Without --reference, the reference is the order that
the versions were made for, at consecutive ranks; the paper uses the ranks of a reranker with 4
billion parameters. gap is the distance of two ranks: smaller is better.`,
	examples: []string{
		"lexsem bench sure --data $LEXSEM_DATA/sure-fiqa",
		"lexsem bench sure --data $LEXSEM_DATA/sure-nq,$LEXSEM_DATA/sure-msmarco --systems dense,rlr --reference ranks.jsonl",
	},
	declare: func(f *flags) action {
		p := declareProtocol(f, "dense,rlr,bm25,hybrid").declareLanguage(f)
		reference := f.str("reference", "", "`FILE`reference ranks: JSONL with query and ranks")
		p.declareLimit(f, "use N queries of each folder, drawn by the seed; default all")
		alone := f.bool("passages-alone", "compute the statistics of the corpus and of BM25 from the passages only, without the versions")
		return func(ctx context.Context, a *app, _ []string) error {
			dirs, err := p.folders()
			if err != nil {
				return err
			}
			if *reference != "" && len(dirs) > 1 {
				return usagef("--reference needs one folder of --data, got %d", len(dirs))
			}
			var reports []*sure.Report
			err = p.measure(ctx, a, func(enc encoder.Encoder, s bench.SettingOptions) error {
				for _, dir := range dirs {
					r, err := sure.Run(ctx, enc, sure.Options{Data: dir, Systems: list(*p.systems), Reference: *reference, QueriesLimit: *p.limit, PassagesAlone: *alone,
						Setting: s, Version: versions().Version})
					if err != nil {
						return err
					}
					reports = append(reports, r)
				}
				return nil
			})
			if err != nil {
				return err
			}
			return writeReport(a, *p.json, eachJSON(reports), func(w io.Writer) error { return writeSURE(w, reports) })
		}
	},
}

// eachJSON writes one object for each report.
func eachJSON[T any](reports []T) func(io.Writer) error {
	return func(w io.Writer) error {
		for _, r := range reports {
			if err := bench.WriteJSON(w, r); err != nil {
				return err
			}
		}
		return nil
	}
}

func writeSURE(w io.Writer, reports []*sure.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "data\ttestbed\tsystem\tqueries\tleft out\tsame text\tRDC\tROC\tspread\tgap\tmedian gap\tΔ RDC\tp (Holm)\tΔ ROC\tp (Holm)\t")
	for _, rep := range reports {
		for _, r := range rep.Results {
			roc, dRDC, pRDC, dROC, pROC := "", "", "", "", ""
			if r.ROC != nil {
				roc = fmt.Sprintf("%.4f", *r.ROC)
			}
			if v := r.VsDense; v != nil {
				dRDC, pRDC = fmt.Sprintf("%+.4f", v.DeltaRDC), fmt.Sprintf("%.4f", v.HolmRDC)
				if r.ROC != nil {
					dROC, pROC = fmt.Sprintf("%+.4f", v.DeltaROC), fmt.Sprintf("%.4f", v.HolmROC)
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%.4f\t%s\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t\n",
				rep.Data, r.Testbed, r.System, r.Queries, r.LeftOut, r.Same, r.RDC, roc, r.Spread, r.Gap, r.MedianGap, dRDC, pRDC, dROC, pROC)
		}
	}
	if len(reports) > 0 {
		fmt.Fprintf(t, "reference: %s\n", reports[0].Reference)
	}
	return t.Flush()
}

var cmdBenchCapRetrieval = command{
	name:    "bench capretrieval",
	summary: "CapRetrieval: phrases against captions, by type of query",
	about: `
Searches with the judged queries (labels 0, 1, 2, linear gain) and reports nDCG@1, @5 and @10. For
the types of query-types.jsonl it also reports nDCG@10 and the share of queries on which each
system beats BM25, as Tables 2 and 3 of the paper do. If queries-without-positives.jsonl exists,
the area under the ROC curve says how well the best score of a query separates queries with an
answer from those without. --lower lower-cases all texts, as the paper does; it changes nothing for
uncased models and BM25.`,
	examples: []string{
		"lexsem bench capretrieval --data $LEXSEM_DATA/capret-en",
		"lexsem bench capretrieval --data $LEXSEM_DATA/capret-en --systems dense,rlr,bm25,hybrid:dense --json -",
	},
	declare: func(f *flags) action {
		p := declareProtocol(f, "dense,rlr,bm25,rrf,hybrid:dense,hybrid").declareLanguage(f)
		lower := f.bool("lower", "lower-case passages and queries")
		html := f.outFile("html", "", "`FILE`write the report as one HTML page with plots")
		return func(ctx context.Context, a *app, _ []string) error {
			dirs, err := p.folders()
			if err != nil {
				return err
			}
			type outcome struct {
				*bench.Report
				Lower bool            `json:"lower"`
				Types []compare.Group `json:"types"`
			}
			types := make([]map[string][]string, len(dirs))
			for i, dir := range dirs {
				if types[i], err = compare.ReadTypes(dir); err != nil {
					return err
				}
			}
			metrics := []string{"ndcg@1", "ndcg@5", "ndcg@10"}
			reports, err := p.judged(ctx, a, dirs, metrics, func(o *bench.Options) { o.Lower, o.Cases, o.Answerable = *lower, 5, true })
			if err != nil {
				return err
			}
			outcomes := make([]outcome, len(reports))
			for i, rep := range reports {
				groups, err := compare.Breakdown(rep, types[i], "ndcg@10", "bm25")
				if err != nil {
					return benchError(err)
				}
				outcomes[i] = outcome{rep, *lower, groups}
			}
			if err := writePages("", *html, &report.Bundle{Benches: reports}); err != nil {
				return err
			}
			return writeReport(a, *p.json, eachJSON(outcomes), func(w io.Writer) error {
				for _, r := range outcomes {
					if err := r.WriteTable(w, metrics); err != nil {
						return err
					}
					if err := writeGroups(w, r.Types); err != nil {
						return err
					}
					writeAnswerable(w, r.Answerable)
				}
				return nil
			})
		}
	},
}

// writeGroups writes nDCG@10 by type, and the shares of queries that score higher or
// lower than BM25.
func writeGroups(w io.Writer, groups []compare.Group) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\ntype\tqueries\t")
	for _, s := range groups[0].Systems {
		fmt.Fprintf(t, "%s\t", s.System)
		if s.System != "bm25" {
			fmt.Fprint(t, "> < = bm25\t")
		}
	}
	fmt.Fprintln(t)
	for _, g := range groups {
		fmt.Fprintf(t, "%s\t%d\t", g.Type, g.Queries)
		for _, s := range g.Systems {
			fmt.Fprintf(t, "%.1f\t", 100*s.Mean)
			if s.System == "bm25" {
				continue
			}
			shares := ""
			if s.Higher+s.Lower+s.Equal > 0 {
				shares = fmt.Sprintf("%.0f %.0f %.0f", 100*s.Higher, 100*s.Lower, 100*s.Equal)
			}
			fmt.Fprintf(t, "%s\t", shares)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// writeAnswerable writes how well scores tell which queries have an answer.
func writeAnswerable(w io.Writer, all []bench.Answerable) {
	for i, a := range all {
		if i == 0 {
			fmt.Fprintf(w, "\nAUC of the best score, %d queries with a positive against %d without:", a.With, a.Without)
		}
		fmt.Fprintf(w, " %s %.1f", a.System, 100*a.AUC)
	}
	if len(all) > 0 {
		fmt.Fprintln(w)
	}
}

var cmdBenchLIMIT = command{
	name:    "bench limit",
	summary: "LIMIT: combinations that one vector cannot distinguish",
	about: `
Searches with the judged queries of the LIMIT set (arXiv 2508.21038) and reports Recall@2, @10 and
@100. Each query has two relevant documents, and every pair of documents answers a query. Single
vectors of few dimensions cannot satisfy that. --make writes such a set of any size, by the rules of
the paper's generator with names and likes of its own, and measures nothing.`,
	examples: []string{
		"lexsem bench limit --make limit-50k",
		"lexsem bench limit --data limit-50k --systems dense,rlr,bm25 --json limit.json",
	},
	declare: func(f *flags) action {
		p := declareProtocol(f, "dense,rlr,bm25,hybrid").declareLanguage(f)
		dir := f.outDir("make", "`DIR`make a set in this new folder instead of measuring one")
		n := f.int("documents", limit.DefaultDocuments, "documents of the set that --make makes")
		return func(ctx context.Context, a *app, args []string) error {
			if *dir != "" {
				if len(args) > 0 || *p.data != "" {
					return usagef("--make writes a set; --data measures one: use one of them")
				}
				if err := limit.Write(ctx, *dir, *n, *p.seed); err != nil {
					return benchError(err)
				}
				_, err := fmt.Fprintf(a.Stdout, "%s: %d documents, 1,000 queries. Measure it by: lexsem bench limit --data %s\n", *dir, *n, *dir)
				return err
			}
			if *n != limit.DefaultDocuments {
				return usagef("--documents is the size of a set that --make DIR makes")
			}
			dirs, err := p.folders()
			if err != nil {
				return err
			}
			metrics := []string{"recall@2", "recall@10", "recall@100", "ndcg@10"}
			reports, err := p.judged(ctx, a, dirs, metrics, func(*bench.Options) {})
			if err != nil {
				return err
			}
			return writeReport(a, *p.json, eachJSON(reports), func(w io.Writer) error {
				for _, r := range reports {
					if err := r.WriteTable(w, metrics); err != nil {
						return err
					}
				}
				return nil
			})
		}
	},
}
