// Package limit makes corpora like LIMIT (arXiv 2508.21038): texts that single vectors of few dimensions cannot
// rank, whatever the encoder. Start with [Write]. Its rules are those of the paper's public generator; names and
// likes are its own, so figures compare with the paper's in kind and not in value.
//
// A document says what a person likes. Each query asks for one like. The first documents are the fewest with
// enough pairs for the queries. Each query has its own pair of them as its answer, so nearly all pairs occur.
// Everybody has the same number of likes: likes that queries ask for, filled up with likes that no query asks
// for. The remaining documents have only likes that no query asks for.
package limit

import (
	"bufio"
	"context"
	_ "embed" // likes.txt
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/private"
)

// The paper's numbers.
const (
	DefaultDocuments = 50_000
	queries          = 1000
	likes            = 45 // of a person
)

// Write makes a folder in the BEIR layout with n documents, drawn by the seed, and 1,000 queries with two
// answers each. An option out of range, or a folder that has a corpus, is bench.ErrOption. Cost O(n).
func Write(ctx context.Context, dir string, n int, seed uint64) error {
	people := 2
	for people*(people-1)/2 < queries {
		people++
	}
	if most := len(given) * len(surnames); n < people || n > most {
		return fmt.Errorf("%w: %d documents; use %d to %d", bench.ErrOption, n, people, most)
	}
	corpus := filepath.Join(dir, "corpus.jsonl")
	if _, err := os.Stat(corpus); err == nil {
		return fmt.Errorf("%w: %s is there already; name a new folder", bench.ErrOption, corpus)
	}
	if err := private.MkdirAll(filepath.Join(dir, "qrels")); err != nil {
		return err
	}
	all := allLikes()
	random.New(seed, "limit", "likes").Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	asked, others := all[:queries], all[queries:]
	names := random.New(seed, "limit", "names").Perm(len(given) * len(surnames))[:n]
	name := func(i int) string {
		return given[names[i]%len(given)] + " " + surnames[names[i]/len(given)]
	}
	of := make([][]string, people) // the likes that queries ask for
	var pairs [][2]int
	for a := range people {
		for b := a + 1; b < people && len(pairs) < queries; b++ {
			of[a], of[b] = append(of[a], asked[len(pairs)]), append(of[b], asked[len(pairs)])
			pairs = append(pairs, [2]int{a, b})
		}
	}
	err := write(filepath.Join(dir, "queries.jsonl"), func(w io.Writer) error {
		for i, like := range asked {
			if err := line(w, fmt.Sprintf("query_%d", i), "Who likes "+like+"?"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = write(filepath.Join(dir, "qrels", "test.tsv"), func(w io.Writer) error {
		fmt.Fprint(w, "query-id\tcorpus-id\tscore\n")
		for i, p := range pairs {
			fmt.Fprintf(w, "query_%d\t%s\t1\nquery_%d\t%s\t1\n", i, name(p[0]), i, name(p[1]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	rng := random.New(seed, "limit", "others")
	return write(corpus, func(w io.Writer) error { // the last: a folder without it is no corpus
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			var has []string
			if i < people {
				has = of[i]
			}
			has = fill(rng, has, others)
			if err := line(w, name(i), name(i)+" likes "+strings.Join(has[:len(has)-1], ", ")+" and "+has[len(has)-1]+"."); err != nil {
				return err
			}
		}
		return nil
	})
}

// fill adds others until a person has the common number of likes, and shuffles them.
func fill(rng *rand.Rand, has, others []string) []string {
	has = append([]string(nil), has...)
	for _, i := range rng.Perm(len(others))[:max(0, likes-len(has))] {
		has = append(has, others[i])
	}
	rng.Shuffle(len(has), func(i, j int) { has[i], has[j] = has[j], has[i] })
	return has
}

// write creates a file; fn writes to it through a buffer.
func write(name string, fn func(io.Writer) error) error {
	return atomicfile.Write(name, func(f *os.File) error {
		w := bufio.NewWriter(f)
		return errors.Join(fn(w), w.Flush())
	})
}

func line(w io.Writer, id, text string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		ID    string `json:"_id"`
		Title string `json:"title"`
		Text  string `json:"text"`
	}{id, "", text})
}

// likesFile has one group a line: words that are likes themselves ("each"), or that form a like with the group's
// name.
//
//go:embed likes.txt
var likesFile string

func allLikes() (out []string) {
	for group := range strings.Lines(likesFile) {
		head, words, _ := strings.Cut(strings.TrimSpace(group), ": ")
		for w := range strings.FieldsSeq(words) {
			w = strings.ReplaceAll(w, "-", " ")
			if !strings.HasSuffix(head, ", each") {
				w += " " + head
			}
			out = append(out, w)
		}
	}
	return out
}

var given = strings.Fields("Ada Alma Amir Ana Anton Aron Astrid Bela Berta Boris Bruno Carla Cecil Chen Clara Dagny Dario Davor Delia Dora " +
	"Edith Egon Elena Elmar Emil Enzo Erik Esra Eva Fatima Felix Finn Flora Frida Georg Gita Greta Gustav Hana Hanna Haruki Heidi Hugo Ida Igor " +
	"Ilona Imre Ines Ingrid Irma Isak Ivan Jana Jarmila Jonas Jorge Judit Julia Kamal Karin Kasper Kenji Klara Lars Laila Leon Lidia Linus Lotte " +
	"Luka Magda Malik Marek Marta Matteo Mei Milan Mina Mirko Nadia Naoki Nils Nina Noor Olaf Olga Omar Oskar Paula Pavel Petra Piotr Quentin " +
	"Rafael Rania Rolf Rosa Ruben Samira Sara Selma Sofia Stefan Sven Tamar Tarek Tilda Timo Tove Ulla Ulrich Vera Viktor Walter Wanda Xenia Yara " +
	"Yusuf Zelda Zoltan")

// surnames are made of two parts each.
var surnames = func() (out []string) {
	for _, a := range strings.Fields("Ash Black Brad Brook Cald Clay Craw Dal Ed Fair Farn Gar Graf Hart Hol Kend Lang Mar Nor Oak Pem Red Shel Thorn Whit Wood") {
		for _, b := range strings.Fields("berg beck bury by croft dale den field ford grove ham hurst ley low man mer more ridge sen son stad stein ton vik well wick") {
			out = append(out, a+b)
		}
	}
	return out
}()
