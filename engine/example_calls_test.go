package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
)

// must ends an example that fails.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// flowers counts a few words: a stand-in for a model, or for an API that encodes.
func flowers(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{.1}
		for _, word := range []string{"rose", "tulip", "bread", "river"} {
			out[i] = append(out[i], float32(strings.Count(strings.ToLower(t), word)))
		}
	}
	return out, nil
}

// garden opens a database with three documents, and removes it with the returned
// function.
func garden(ctx context.Context) (*engine.Engine, func()) {
	dir := must(os.MkdirTemp("", "lexsem-example-"))
	db := must(engine.Open(ctx, dir, encoder.Func("flowers", 5, flowers), engine.Options{}))
	must(db.Upsert(ctx, []engine.Document{
		{ID: "rose", Title: "Roses", Text: "A rose wants sun.", Metadata: map[string]any{"height": 120, "colour": "red"}},
		{ID: "tulip", Title: "Tulips", Text: "A tulip comes in spring.", Metadata: map[string]any{"height": 40, "colour": "red"}},
		{ID: "bread", Text: "Bread needs time.\nAnd bread needs salt.", Metadata: map[string]any{"minutes": 45}},
	}))
	return db, func() {
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

// Any source of vectors will do. The database knows its encoder, and refuses another.
func ExampleOpen() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "lexsem-example-"))
	defer os.RemoveAll(dir)
	db := must(engine.Open(ctx, dir, encoder.Func("flowers", 5, flowers), engine.Options{}))
	must(db.Add(ctx, []engine.Document{{ID: "rose", Text: "A rose wants sun."}}))
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	_, err := engine.Open(ctx, dir, encoder.Func("another", 5, flowers), engine.Options{MustExist: true})
	fmt.Println(errors.Is(err, encoder.ErrMismatch))
	// Output: true
}

// What is stored already is not encoded again, and not written.
func ExampleEngine_Upsert() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	r := must(db.Upsert(ctx, []engine.Document{
		{ID: "bread", Text: "Bread needs time.\nAnd bread needs salt.", Metadata: map[string]any{"minutes": 45}},
		{ID: "rose", Title: "Roses", Text: "A rose wants sun and water."},
		{ID: "river", Text: "The river is cold."},
	}))
	fmt.Println(r.Added, "new,", r.Replaced, "replaced,", r.Unchanged, "unchanged")
	// Output: 1 new, 1 replaced, 1 unchanged
}

func ExampleEngine_Search() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	res := must(db.Search(ctx, engine.Query{Text: "when do I plant a tulip?", K: 1}))
	for _, h := range res.Hits {
		fmt.Printf("%d. %s, line %d: %s\n", h.Rank, h.Title, h.Lines[0], h.Text)
	}
	// Output: 1. Tulips, line 1: A tulip comes in spring.
}

// A filter looks at metadata; it can be written as text, too, with filter.Parse.
func ExampleEngine_Search_filter() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	low := filter.And(filter.Eq("colour", "red"), filter.Lt("height", 100))
	for _, h := range must(db.Search(ctx, engine.Query{Text: "a red rose", Filter: low})).Hits {
		fmt.Println(h.ID, h.Metadata["height"])
	}
	// Output: tulip 40
}

// The second page of two hits each.
func ExampleEngine_Search_page() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	for _, h := range must(db.Search(ctx, engine.Query{Text: "rose tulip rose", K: 2, Offset: 2, Mode: engine.ModeDense})).Hits {
		fmt.Println(h.Rank, h.ID)
	}
	// Output: 3 bread
}

// Several queries over one state, their texts encoded in one call.
func ExampleEngine_SearchBatch() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	queries := []engine.Query{{Text: "rose", K: 1}, {Text: "bread", K: 1}}
	for i, r := range must(db.SearchBatch(ctx, queries)) {
		fmt.Println(queries[i].Text, "→", r.Hits[0].ID)
	}
	// Output:
	// rose → rose
	// bread → bread
}

// nil removes a key. Nothing is encoded.
func ExampleEngine_Patch() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	n := must(db.Patch(ctx, []engine.Patch{{ID: "rose", Metadata: map[string]any{"colour": "white", "height": nil, "cut": true}}}))
	fmt.Println(n, must(db.Get(ctx, "rose")).Metadata)
	// Output: 1 map[colour:white cut:true]
}

// Numbers come back as json.Number, digit for digit.
func ExampleEngine_Get() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	d := must(db.Get(ctx, "bread"))
	fmt.Println(strings.SplitN(d.Text, "\n", 2)[0], d.Metadata["minutes"])
	_, err := db.Get(ctx, "cake")
	fmt.Println(err)
	// Output:
	// Bread needs time. 45
	// document "cake": not found
}

func ExampleEngine_All() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	for d, err := range db.All(ctx, filter.Exists("colour")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.ID, d.Metadata["colour"])
	}
	// Output:
	// rose red
	// tulip red
}

func ExampleEngine_Delete() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	fmt.Println(must(db.Delete(ctx, []string{"rose", "cake"})), "deleted")
	fmt.Println(must(db.DeleteWhere(ctx, must(filter.Parse("minutes > 30")))), "deleted")
	fmt.Println(must(db.Count(ctx, engine.Filter{})), "left")
	// Output:
	// 1 deleted
	// 1 deleted
	// 1 left
}

// Words tell what each word of the query gives, Matches where it stands.
func ExampleEngine_Explain() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	x := must(db.Explain(ctx, engine.Query{Text: "bread with salt"}, "bread"))
	for _, w := range x.Words {
		fmt.Println(w.Term, "stands", w.Count, "times")
	}
	fmt.Println(len(x.Matches), "places, rank", x.Rank)
	// Output:
	// bread stands 2 times
	// salt stands 1 times
	// 3 places, rank 1
}

// An export is JSON lines that other programs read, too.
func ExampleEngine_Export() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	var b bytes.Buffer
	fmt.Println(must(db.Export(ctx, &b, archive.ExportOptions{Vectors: true})), "documents out")

	dir := must(os.MkdirTemp("", "lexsem-example-"))
	defer os.RemoveAll(dir)
	other := must(engine.Open(ctx, dir, encoder.Func("flowers", 5, flowers), engine.Options{}))
	defer other.Close()
	x := must(archive.NewExported(&b))
	fmt.Println(must(other.Import(ctx, x)).Added, "in")
	// Output:
	// 3 documents out
	// 3 in
}

// A further backup onto the same file appends what has changed.
func ExampleEngine_Backup() {
	ctx := context.Background()
	db, done := garden(ctx)
	defer done()
	dir := must(os.MkdirTemp("", "lexsem-example-"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "garden.backup")
	fmt.Println("part", must(db.Backup(ctx, file)).Part)
	must(db.Delete(ctx, []string{"rose"}))
	fmt.Println("part", must(db.Backup(ctx, file)).Part)

	f := must(os.Open(file))
	defer f.Close()
	must(archive.Restore(ctx, filepath.Join(dir, "restored"), f, archive.RestoreOptions{}))
	restored := must(engine.Open(ctx, filepath.Join(dir, "restored"), nil, engine.Options{}))
	defer restored.Close()
	fmt.Println(must(restored.Count(ctx, engine.Filter{})), "documents")
	// Output:
	// part 1
	// part 2
	// 2 documents
}
