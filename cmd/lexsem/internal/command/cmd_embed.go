package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

var cmdEmbed = command{
	name:    "embed",
	args:    "FILE | -",
	summary: "encode texts as vectors: JSONL, .npy or .fbin",
	about: `
Each line of FILE is a text. In a .jsonl file each line is an object with "text" and optionally
"title" and "_id"; --input overrides the choice by file name. Vectors have unit length. The role
matters for models with instructions, such as bge: passage for texts to index, query for queries.

--variant modulates query vectors as lexsem search with --db does, for searches over passage vectors
that another engine keeps.

jsonl prints {"id","vector","tokens","truncated"}, one line per text. npy is NumPy's format. fbin is
uint32 n, uint32 d, then n·d float32, little-endian.`,
	examples: []string{
		"lexsem embed --role query questions.txt > vectors.jsonl",
		"lexsem embed --role query --db papers.db --variant rlr+slr questions.txt > vectors.jsonl",
	},
	declare: func(f *flags) action {
		o := embedOptions{
			variant: f.str("variant", "", "`NAME`modulate query vectors by this variant of --db"),
			role:    f.str("role", "passage", "`ROLE`passage or query"),
			format:  f.str("format", "jsonl", "`FORMAT`jsonl, npy or fbin"),
			input:   f.str("input", "", "`KIND`lines or jsonl; default by the file name"),
			out:     f.outFile("out", "-", "`FILE`file to write; - is standard output"),
		}
		return o.run
	},
}

type embedOptions struct{ variant, role, format, input, out *string }

// embedBatch is the number of texts in one call of the encoder.
const embedBatch = 256

func (o embedOptions) run(ctx context.Context, a *app, args []string) (err error) {
	roles := map[string]encoder.Role{"passage": encoder.Passage, "query": encoder.Query}
	role, ok := roles[*o.role]
	switch {
	case len(args) != 1:
		return hinted(usagef("embed takes one file, got %d", len(args)), "- is standard input")
	case !ok:
		return usagef("role %q: use passage or query", *o.role)
	case !slices.Contains([]string{"jsonl", "npy", "fbin"}, *o.format):
		return usagef("format %q: use jsonl, npy or fbin", *o.format)
	case !slices.Contains([]string{"", "lines", "jsonl"}, *o.input):
		return usagef("input %q: use lines or jsonl", *o.input)
	case *o.variant != "" && (role != encoder.Query || a.db == ""):
		return hinted(usagef("--variant needs --role query and --db"), "add --role query and --db DIR")
	}
	texts, err := o.read(ctx, a, args[0])
	if err != nil {
		return err
	}
	db, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	if *o.out == "-" {
		out := a.Stdout
		if *o.format != "jsonl" {
			out = raw(out)
		}
		return o.write(ctx, a, db, role, texts, out)
	}
	return writeFile(*o.out, func(w io.Writer) error { return o.write(ctx, a, db, role, texts, w) })
}

// open opens the encoder, and with --variant the database, too.
func (o embedOptions) open(ctx context.Context, a *app) (*database, error) {
	if *o.variant != "" {
		db, err := a.openDB(ctx, a.db, engine.Options{MustExist: true, ReadOnly: true})
		if err != nil {
			return nil, err
		}
		if err := db.bringEncoder(ctx); err != nil {
			return nil, errors.Join(err, db.close())
		}
		return db, nil
	}
	model := a.model
	if model == "" && a.db != "" {
		var err error
		if model, err = a.storedModel(ctx, a.db); err != nil {
			return nil, err
		}
	}
	model = cmp.Or(model, a.defaultModel())
	enc, err := a.openEncoder(ctx, model)
	if err != nil {
		return nil, err
	}
	return &database{lent: enc, app: a}, nil
}

// namedText is a text with its id, or its line in a file.
type namedText struct{ id, text string }

func (o embedOptions) read(ctx context.Context, a *app, name string) ([]namedText, error) {
	r, err := a.input(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	kind := *o.input
	if kind == "" && filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz")) == ".jsonl" {
		kind = "jsonl"
	}
	var out []namedText
	if kind == "jsonl" {
		err = eachText(ctx, r, name, func(_ int, d engine.Document) error {
			out = append(out, namedText{d.ID, strings.TrimSpace(d.Title + " " + d.Text)})
			return nil
		})
	} else {
		out, err = readLines(ctx, r, name)
	}
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no texts in it", name)
	}
	return out, nil
}

// readLines reads a text from each line that is not blank.
func readLines(ctx context.Context, r io.Reader, name string) (out []namedText, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxText)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !utf8.ValidString(text) {
			return nil, &badInput{name, n, errors.New("not valid UTF-8; convert the file first")}
		}
		if text != "" {
			out = append(out, namedText{fmt.Sprint(n), text})
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &badInput{name, n, fmt.Errorf("line longer than %d MiB; split the text", maxText>>20)}
	} else if err != nil {
		return nil, err
	}
	return out, nil
}

func (o embedOptions) write(ctx context.Context, a *app, db *database, role encoder.Role, texts []namedText, to io.Writer) error {
	w := bufio.NewWriter(to)
	emit, err := vectorWriter(w, *o.format, len(texts), db.encoder().Dim())
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	cut := 0
	for at := 0; at < len(texts); at += embedBatch {
		batch := texts[at:min(at+embedBatch, len(texts))]
		plain := make([]string, len(batch))
		for i, t := range batch {
			plain[i] = t.text
		}
		out, err := db.encoder().Encode(ctx, role, encoder.Texts(plain...), encoder.NeedDense)
		if err != nil {
			return err
		}
		for i, v := range out {
			if v.Tokens.Truncated > 0 {
				cut++
			}
			if *o.variant != "" {
				q := engine.Query{Text: plain[i], Vector: v.Dense, Variant: *o.variant, Plain: true}
				if v.Dense, _, err = db.Vector(ctx, q); err != nil {
					return err
				}
			}
			if err := emit(batch[i].id, v); err != nil {
				return err
			}
		}
		p.update(step{stage: "encoding", done: at + len(batch), total: len(texts), unit: "texts"})
	}
	p.done()
	if cut > 0 && !a.quiet {
		fmt.Fprintf(a.Stderr, "%s cut at %d tokens\n", count(cut, "text was", "texts were"), db.encoder().Fingerprint().MaxTokens)
	}
	return w.Flush()
}
