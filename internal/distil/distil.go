// Package distil makes a static model, a table of one vector a token, of a model that encodes texts. Start with [Distil].
// Package models opens what it makes, and keeps it in the cache.
package distil

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/vec"
)

// Teacher is an encoder that a static model can be made from. It encodes texts that are given as tokens, and names tokens.
type Teacher interface {
	encoder.Encoder
	Token(id int32) string
	EncodeTokens(ctx context.Context, role encoder.Role, texts []encoder.Tokens) ([][]float32, error)
}

// Version changes with the table that Distil makes of the same teacher.
const Version = 1

const (
	tokenizerFile = "tokenizer.json"
	tableFile     = "model.safetensors"
	tableName     = "embeddings"

	distilTexts   = 1024 // tokens that the teacher is handed at once
	distilRidge   = 1e-6 // of the mean variance, is added to all
	zipfScale     = 1e-4 // a
	maxVocabulary = 1 << 26
)

// Distil makes a static model of a teacher and writes it into the empty folder dir, as Model2Vec lays it out. The row of
// a token is the teacher's vector of a passage of that token alone, less the mean of all rows, and whitened: the rows then have the
// covariance 1, so that the few directions which all words share do not outweigh the rest. The row is multiplied by
// a/(a+p), where p is the share of the token in texts by Zipf's law: the ids of a vocabulary are ordered by frequency.
//
// Any whitening gives the same cosines. This one solves L·y = x, with L·Lᵀ the covariance (Cholesky), which has
// neither the free signs nor the free order of eigenvectors: two machines make the same space.
//
// folder has the tokenizer.json of the teacher. The model is named name. progress, if not nil, receives how many tokens
// were encoded. Cost: the encoding of all tokens, and two products of the table with a matrix [d × d]. Errors:
// native.ErrModel where the teacher cannot be one; that of ctx.
func Distil(ctx context.Context, teacher Teacher, folder, name, dir string, progress func(done, of int)) error {
	words, err := regular.ReadFile(filepath.Join(folder, tokenizerFile), maxVocabulary)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: no static model is made of %s, which has no %s; use another model", native.ErrModel, folder, tokenizerFile)
	}
	if err != nil {
		return err
	}
	table, known, err := tokenVectors(ctx, teacher, progress)
	if err != nil {
		return err
	}
	n, d := teacher.VocabSize(), teacher.Dim()
	if table, err = whiten(ctx, table, known, n, d); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	share := zipf(n)
	for i := range n {
		vec.Scale(table[i*d:i*d+d], share(i))
	}
	if err := os.WriteFile(filepath.Join(dir, tokenizerFile), words, 0o644); err != nil {
		return err
	}
	if err := writeTable(filepath.Join(dir, tableFile), table, n, d); err != nil {
		return err
	}
	spec := modelspec.Spec{Model: name, Precision: native.FP32, Pooling: pooling.Mean, MaxTokens: teacher.Fingerprint().MaxTokens, Static: "."}
	return spec.Write(dir)
}

// tokenVectors returns the teacher's vector of each token, and which ids are tokens.
func tokenVectors(ctx context.Context, teacher Teacher, progress func(done, of int)) (table []float32, known []bool, err error) {
	frame := teacher.Tokenize(encoder.Passage, "a")
	from, to := 0, len(frame.IDs)
	for from < to && frame.Offsets[from] == (encoder.Span{}) {
		from++
	}
	for to > from && frame.Offsets[to-1] == (encoder.Span{}) {
		to--
	}
	n, d := teacher.VocabSize(), teacher.Dim()
	table, known = make([]float32, n*d), make([]bool, n)
	var ids []int
	var texts []encoder.Tokens
	for id := range n {
		if known[id] = teacher.Token(int32(id)) != ""; known[id] {
			one := append(append(append([]int32{}, frame.IDs[:from]...), int32(id)), frame.IDs[to:]...)
			ids, texts = append(ids, id), append(texts, encoder.Tokens{IDs: one})
		}
		if len(texts) < distilTexts && id < n-1 {
			continue
		}
		rows, err := teacher.EncodeTokens(ctx, encoder.Passage, texts)
		if err != nil {
			return nil, nil, err
		}
		for i, row := range rows {
			copy(table[ids[i]*d:], row)
		}
		if ids, texts = ids[:0], texts[:0]; progress != nil {
			progress(id+1, n)
		}
	}
	return table, known, nil
}

// whiten takes the mean from the rows that count, and gives them the covariance 1. Other rows stay zero.
func whiten(ctx context.Context, table []float32, known []bool, n, d int) ([]float32, error) {
	mean, count := make([]float64, d), 0.0
	for i := range n {
		if known[i] {
			vec.AxpyWide(mean, 1, table[i*d:i*d+d])
			count++
		}
	}
	cov := make([]float64, d*d) // its upper half
	for i := range n {
		if i%512 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !known[i] {
			continue
		}
		row := table[i*d : i*d+d]
		for k := range row {
			row[k] -= float32(mean[k] / count)
		}
		for k, v := range row {
			vec.AxpyWide(cov[k*d+k:k*d+d], float64(v)/count, row[k:])
		}
	}
	inverse, err := inverseRoot(ctx, cov, d)
	if err != nil {
		return nil, err
	}
	out := make([]float32, n*d)
	for i := 0; i < n; i += distilTexts {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m := min(distilTexts, n-i)
		vec.MatMulNTParallel(out[i*d:(i+m)*d], table[i*d:], inverse, m, d, d, runtime.GOMAXPROCS(0))
	}
	return out, nil
}

// inverseRoot returns the inverse of L, where L·Lᵀ is the symmetric matrix whose upper half is given, which it overwrites.
func inverseRoot(ctx context.Context, a []float64, d int) ([]float32, error) {
	trace := 0.0
	for i := range d {
		trace += a[i*d+i]
	}
	for i := range d {
		a[i*d+i] += distilRidge * trace / float64(d)
	}
	for i := range d { // row i of Lᵀ takes the place of row i of a
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row := a[i*d+i : i*d+d]
		if !(row[0] > 0) || math.IsInf(row[0], 1) {
			return nil, fmt.Errorf("%w: the vectors of its tokens have no covariance", native.ErrModel)
		}
		root := math.Sqrt(row[0])
		for k := range row {
			row[k] /= root
		}
		for j := i + 1; j < d; j++ {
			f, below := row[j-i], a[j*d+j:j*d+d]
			for k := range below {
				below[k] -= f * row[j-i+k]
			}
		}
	}
	out, column := make([]float32, d*d), make([]float64, d)
	for j := range d { // column j of the inverse solves L·x = e_j
		clear(column)
		column[j] = 1
		for i := j; i < d; i++ {
			row := a[i*d+i : i*d+d]
			x := column[i] / row[0]
			out[i*d+j] = float32(x)
			for k := 1; k < len(row); k++ {
				column[i+k] -= x * row[k]
			}
		}
	}
	return out, nil
}

// zipf returns the factor of each of n tokens.
func zipf(n int) func(id int) float32 {
	total := 0.0
	for i := range n {
		total += 1 / float64(i+2)
	}
	return func(id int) float32 {
		return float32(zipfScale / (zipfScale + 1/float64(id+2)/total))
	}
}

// writeTable writes the table of a static model, in bfloat16.
func writeTable(path string, table []float32, n, d int) error {
	header, err := json.Marshal(map[string]any{tableName: map[string]any{
		"dtype": "BF16", "shape": []int{n, d}, "data_offsets": []int{0, 2 * n * d}}})
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(header)+2*n*d), uint64(len(header)))
	b = append(b, header...)
	for _, v := range table {
		b = binary.LittleEndian.AppendUint16(b, vec.BF16(v))
	}
	return os.WriteFile(path, b, 0o644)
}
