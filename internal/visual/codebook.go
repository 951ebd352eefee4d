// Package visual gives images tokens. A token is a visual word: the number of the codebook entry that is
// nearest to the state of a patch. So methods for tokens of texts also work on images.
//
// Start with [New], which wraps an encoder of images; [FitCodebook] makes its codebook by k-means over the
// states of patches. Without a codebook images have no tokens. [NewReferences] is an encoder whose texts name
// parts of images, for package train. A Codebook never changes and is safe for concurrent use.
package visual

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// Limits on the number of words of a codebook.
const (
	MinWords     = 16
	MaxWords     = 4096
	DefaultWords = 1024
)

// Errors of this package, for errors.Is.
var (
	// ErrCodebook is wrapped by errors about a codebook that is damaged or does not fit.
	ErrCodebook = errors.New("unusable codebook")
	// ErrFewPatches is returned if there are too few states for a codebook.
	ErrFewPatches = errors.New("too few patches for a codebook")
)

// Codebook assigns words to patch states by their direction from the mean of all states. It is
// immutable and safe for concurrent use.
type Codebook struct {
	dim     int
	center  []float32 // [dim]
	words   []float32 // [n × dim], unit vectors
	offsets []float32 // [n], center·word
}

func newCodebook(dim int, center, words []float32) *Codebook {
	b := &Codebook{dim: dim, center: center, words: words, offsets: make([]float32, len(words)/dim)}
	vec.MatMulNT(b.offsets, center, words, 1, len(b.offsets), dim)
	return b
}

// Dim returns the dimension of states.
func (b *Codebook) Dim() int { return b.dim }

// Len returns the number of words.
func (b *Codebook) Len() int { return len(b.offsets) }

// perWord is how many states a codebook is fitted on for each of its words, at most
// and at least.
const mostPerWord, leastPerWord = 64, 4

// Enough reports whether the number of states suffices for a codebook of size words; more states hardly
// improve it.
func Enough(states, size int) bool { return states >= 16*size }

// FitCodebook fits a codebook of size words to states [n × dim], by k-means over directions from their
// mean. There are at least four states for each word: few states give fewer words, and fewer than MinWords
// words are ErrFewPatches. The result depends only on the arguments. Cost: for each of at most 20 rounds, a
// matrix product of 64·size states with the words, on the given number of goroutines. It stops when
// ctx is done.
func FitCodebook(ctx context.Context, states []float32, dim, size int, seed uint64, workers int) (*Codebook, error) {
	if dim < 1 || len(states)%dim != 0 || size < MinWords || size > MaxWords || !vec.Finite(states) {
		return nil, fmt.Errorf("%w: %d words of %d numbers for states of dimension %d; want %d to %d words, and finite numbers", ErrCodebook, size, len(states), dim, MinWords, MaxWords)
	}
	n := len(states) / dim
	center := make([]float64, dim)
	for i, x := range states {
		center[i%dim] += float64(x) / float64(n)
	}
	mean := make([]float32, dim)
	for i, x := range center {
		mean[i] = float32(x)
	}
	r := rand.New(rand.NewPCG(seed, uint64(dim)<<32|uint64(size)))
	var x []float32 // [m × dim], unit vectors
	most := mostPerWord * size
	for _, i := range r.Perm(n) {
		at := len(x)
		for j, s := range states[i*dim : (i+1)*dim] {
			x = append(x, s-mean[j])
		}
		if !vec.Normalize(x[at:]) { // it is the mean
			x = x[:at]
		}
		if len(x) == most*dim {
			break
		}
	}
	m := len(x) / dim
	size = min(size, m/leastPerWord)
	if size < MinWords {
		return nil, fmt.Errorf("%w: %d that differ from their mean; at least %d are needed", ErrFewPatches, m, MinWords*leastPerWord)
	}
	words := slices.Clone(x[:size*dim]) // drawn at random, as x is
	of := make([]int32, m)
	score := make([]float32, m)
	for range 20 {
		moved, err := assign(ctx, of, score, x, words, dim, workers)
		if err != nil {
			return nil, err
		}
		if moved*1000 < m {
			break
		}
		sum, count := make([]float64, len(words)), make([]int, size)
		for i, w := range of {
			count[w]++
			for j, v := range x[i*dim : (i+1)*dim] {
				sum[int(w)*dim+j] += float64(v)
			}
		}
		for w := range size {
			word := words[w*dim : (w+1)*dim]
			for j := range word {
				word[j] = float32(sum[w*dim+j] / float64(max(1, count[w])))
			}
			if count[w] == 0 || !vec.Normalize(word) { // nobody's: the state that is worst off
				worst := 0
				for i, s := range score {
					if s < score[worst] {
						worst = i
					}
				}
				copy(word, x[worst*dim:(worst+1)*dim])
				score[worst] = 2
			}
		}
	}
	return newCodebook(dim, mean, words), nil
}

// assign finds the nearest word of each of x and its cosine, and counts the changed words.
func assign(ctx context.Context, of []int32, score, x, words []float32, dim, workers int) (moved int, err error) {
	const rows = 256
	size := len(words) / dim
	c := make([]float32, rows*size)
	for at := 0; at < len(of); at += rows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n := min(rows, len(of)-at)
		vec.MatMulNTParallel(c, x[at*dim:(at+n)*dim], words, n, size, dim, max(1, workers))
		for i := range n {
			best := int32(0)
			row := c[i*size : (i+1)*size]
			for w, s := range row {
				if s > row[best] {
					best = int32(w)
				}
			}
			score[at+i] = row[best]
			if of[at+i] != best {
				moved++
			}
			of[at+i] = best
		}
	}
	return moved, nil
}

// Words appends the word of each of the states [n × Dim] to dst. This is the word with the largest
// cosine to the difference between the state and the mean of all states; of equal ones, the first.
func (b *Codebook) Words(dst []int32, states []float32) []int32 {
	const rows = 256
	size := b.Len()
	c := make([]float32, min(rows, len(states)/b.dim)*size)
	for ; len(states) > 0; states = states[min(len(states), rows*b.dim):] {
		n := min(rows, len(states)/b.dim)
		vec.MatMulNT(c, states[:n*b.dim], b.words, n, size, b.dim)
		for i := range n {
			best, top := 0, float32(math.Inf(-1))
			for w, s := range c[i*size : (i+1)*size] {
				if s -= b.offsets[w]; s > top {
					best, top = w, s
				}
			}
			dst = append(dst, int32(best))
		}
	}
	return dst
}

// codebookFront is the beginning of an encoded codebook.
const codebookFront = "lexsem visual words 1\n"

// AppendBinary appends the codebook as bytes: the prefix, dimension and number of words as u32, then
// the mean and the words as float32, all little-endian.
func (b *Codebook) AppendBinary(dst []byte) []byte {
	dst = append(dst, codebookFront...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.dim))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.Len()))
	for _, x := range b.center {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	for _, x := range b.words {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// IsCodebook reports whether bytes begin like a codebook.
func IsCodebook(p []byte) bool { return bytes.HasPrefix(p, []byte(codebookFront)) }

// ReadCodebook decodes the bytes of AppendBinary.
func ReadCodebook(p []byte) (*Codebook, error) {
	p, ok := bytes.CutPrefix(p, []byte(codebookFront))
	if !ok || len(p) < 8 {
		return nil, fmt.Errorf("%w: %d bytes that are none", ErrCodebook, len(p))
	}
	dim, size := int(binary.LittleEndian.Uint32(p)), int(binary.LittleEndian.Uint32(p[4:]))
	p = p[8:]
	if dim < 1 || dim > 1<<16 || size < 1 || size > MaxWords || len(p) != 4*dim*(size+1) {
		return nil, fmt.Errorf("%w: %d bytes for %d words of dimension %d", ErrCodebook, len(p), size, dim)
	}
	x := make([]float32, dim*(size+1))
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
	if !vec.Finite(x) {
		return nil, fmt.Errorf("%w: a number that is not finite", ErrCodebook)
	}
	return newCodebook(dim, x[:dim], x[dim:]), nil
}
