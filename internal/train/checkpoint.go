package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"time"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// A checkpoint holds the state of a training after a step, so that it can continue
// exactly, in a file of little-endian numbers:
//
//	"LEXSEMCK"  magic, 8 bytes
//	uint32      length of the header
//	JSON        place
//	4 bytes × n every number of trainer.state, in its order
//	uint32      CRC-32C of all bytes before it
const checkpointMagic = "LEXSEMCK"

const maxPlace = 1 << 20 // bytes

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place is the position of a descent.
type place struct {
	Key    string    `json:"key"` // of the fit, see fitKey
	Step   int       `json:"step"`
	Epoch  int       `json:"epoch"`
	At     int       `json:"at"`  // queries of the epoch that are done
	Sum    float64   `json:"sum"` // of their losses
	Losses []float64 `json:"losses"`
	Held   []float64 `json:"held"`   // losses of the probes at the end of each epoch
	Best   int       `json:"best"`   // the epoch, from 1, whose weights are kept
	Recent []recent  `json:"recent"` // of the last steps, recentSteps at most
}

// recent is the sum of the losses of one step's queries.
type recent struct {
	Sum     float64 `json:"sum"`
	Queries int     `json:"queries"`
}

// recentSteps is the number of last steps whose mean loss is reported for a fit that
// Options.Steps ended: 2,048 queries by default, since one step has few.
const recentSteps = 8

// stopped reports whether o ends the descent here.
func (p *place) stopped(o Options) bool { return o.Steps > 0 && p.Step >= o.Steps }

// loss is the loss for the weights that are kept: of their epoch, or of the last steps.
func (p *place) loss(o Options) float64 {
	if !p.stopped(o) {
		return p.Losses[p.Best-1]
	}
	var sum float64
	var n int
	for _, r := range p.Recent {
		sum += r.Sum
		n += r.Queries
	}
	return sum / float64(n)
}

// fitKey names everything that the training depends on: a checkpoint with another key
// belongs to another fit.
func fitKey(set *passages, q *queries, stack, encoder, base string, o Options) string {
	h := sha256.New()
	fmt.Fprintln(h, "2", set.digest, encoder, stack, base, q.len(), len(q.tokens), o.RLR, o.Seed, o.QueriesPerPassage,
		o.MaxQueries, o.Epochs, o.Batch, o.LearningRate, o.Tau, o.AllCandidates, o.Negatives, o.HardNegatives != nil, o.Bias, o.StateBytes, o.Spread, o.Reserve, o.Alone, o.Steps, o.Side)
	return hex.EncodeToString(h.Sum(nil))
}

// eachFitted calls fn with each trained matrix (W, b and the heads) and its Adam state.
func (t *trainer) eachFitted(fn func(w []float32, a *adam)) {
	fn(t.projection.Rows(), t.adam)
	if t.bias != nil {
		fn(t.projection.Bias(), t.bias)
	}
	if t.learner != nil {
		for _, h := range t.learner.heads {
			if h != nil {
				fn(h.U, h.u)
				fn(h.B, h.b)
			}
		}
	}
}

// state lists every number that the steps change, and size their length in bytes.
func (t *trainer) state() (floats [][]float32, ints [][]int32, size int) {
	t.eachFitted(func(w []float32, a *adam) {
		floats = append(floats, w, a.m, a.v)
		ints = append(ints, a.last)
	})
	floats = append(floats, t.best...)
	for _, s := range floats {
		size += 4 * len(s)
	}
	for _, s := range ints {
		size += 4 * len(s)
	}
	return floats, ints, size
}

// fitted lists the numbers that are fitted.
func (t *trainer) fitted() (all [][]float32) {
	t.eachFitted(func(w []float32, _ *adam) { all = append(all, w) })
	return all
}

// keep saves the present weights as the best.
func (t *trainer) keep() {
	for i, x := range t.fitted() {
		copy(t.best[i], x)
	}
}

// restore returns to the best weights.
func (t *trainer) restore() {
	for i, x := range t.fitted() {
		copy(x, t.best[i])
	}
}

// saveCheckpoint replaces the file at path by the present state.
func (t *trainer) saveCheckpoint(path string, p place) error {
	header, err := json.Marshal(p)
	if err != nil {
		return err
	}
	floats, ints, size := t.state()
	b := make([]byte, 0, len(checkpointMagic)+4+len(header)+size+4)
	b = append(b, checkpointMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = append(b, header...)
	for _, s := range floats {
		for _, x := range s {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, s := range ints {
		for _, x := range s {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// loadCheckpoint restores t from the file at path and returns its place. If there is no
// file, or it is damaged or of another fit, ok is false and t is unchanged.
func (t *trainer) loadCheckpoint(path, key string) (p place, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	defer f.Close()
	floats, ints, n := t.state()
	limit := len(checkpointMagic) + 4 + maxPlace + n + 4
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return p, false, err
	}
	head := len(checkpointMagic) + 4
	if len(b) < head+4 || len(b) > limit || string(b[:len(checkpointMagic)]) != checkpointMagic ||
		crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return p, false, nil
	}
	size := int(binary.LittleEndian.Uint32(b[len(checkpointMagic):]))
	body := b[head : len(b)-4]
	if size > len(body) || len(body)-size != n || json.NewDecoder(bytes.NewReader(body[:size])).Decode(&p) != nil || p.Key != key {
		return place{}, false, nil
	}
	body = body[size:]
	for _, s := range floats {
		for i := range s {
			s[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
		}
		body = body[4*len(s):]
	}
	for _, s := range ints {
		for i := range s {
			s[i] = int32(binary.LittleEndian.Uint32(body[4*i:]))
		}
		body = body[4*len(s):]
	}
	return p, true, nil
}

// checkpointer saves a trainer at intervals; without a path it does nothing.
type checkpointer struct {
	path  string
	every time.Duration
	last  time.Time
}

// after saves the state at p if it is due.
func (c *checkpointer) after(t *trainer, p place) error {
	if c.path == "" || time.Since(c.last) < c.every {
		return nil
	}
	err := t.saveCheckpoint(c.path, p)
	c.last = time.Now()
	if err != nil {
		return fmt.Errorf("save the checkpoint %s: %w; make room or fit without one", c.path, err)
	}
	return nil
}
