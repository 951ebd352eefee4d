package bench

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/modulate"
)

// fitStack fits a stack to the requested targets, once a run: systems with the same bridge
// share its fit. With a cache folder it is kept for later runs of the same program on the same
// texts, vectors and options. fit receives the figures of the fit.
func (s *Setting) fitStack(ctx context.Context, stack modulate.Stack, fit *Fit) (*modulate.Weights, error) {
	t, err := s.teacher(ctx)
	if err != nil {
		return nil, err
	}
	fit.Passages = t.Targets.Len()
	if t.FitPassages > 0 {
		fit.Passages = min(t.FitPassages, fit.Passages)
	}
	return t.fitHere(ctx, stack, fit)
}

// fitHere fits a stack to the targets of s, or to a random part of them.
func (s *Setting) fitHere(ctx context.Context, of modulate.Stack, fit *Fit) (*modulate.Weights, error) {
	stack := of.Name()
	if s.Encoder.VocabSize() == 0 {
		return nil, fmt.Errorf("%w: %s is fitted, which needs an encoder with a tokenizer, and its own tokens; use rlr or rlr-local", ErrOption, stack)
	}
	key, err := s.fitKey(stack)
	if err != nil {
		return nil, err
	}
	if w, ok := s.fitted[key]; ok {
		fit.Cached, fit.Queries = true, w.Queries
		return w, nil
	}
	file := filepath.Join(s.CacheDir, "bridges", key+".bridge")
	if s.CacheDir != "" {
		w, err := modulate.Load(file)
		switch {
		case err == nil && w.Stack == stack && w.CheckEncoder("cached bridge "+file, s.Encoder.Fingerprint()) == nil:
			s.fitted[key] = w
			fit.Cached, fit.Queries, fit.Loss = true, w.Queries, w.Loss
			return w, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			// A damaged file is fitted anew and replaced.
			s.Report(Progress{Stage: "refit " + stack + ": its cached bridge cannot be read"})
		}
	}
	var sums *ridge.Sums
	if of.ReadsSums() {
		if sums, err = s.corpusSums(ctx); err != nil {
			return nil, err
		}
	}
	o := s.fitOptions()
	o.Stack, o.Sums, o.HardNegatives = stack, sums, s.hardNegatives()
	o.Progress = func(stage string, done, total int, loss float64) {
		s.Report(Progress{Stage: stage + " " + stack, Done: done, Total: total, Loss: loss})
	}
	corpus := train.Corpus(settingCorpus{s})
	if n := s.FitPassages; n > 0 && n < s.Targets.Len() {
		corpus = drawnCorpus{settingCorpus{s}, random.New(s.Seed, "fit", "passages").Perm(s.Targets.Len())[:n]}
		o.HardNegatives, o.AllCandidates = nil, n // every query against all of them
	}
	w, rep, err := train.Fit(ctx, corpus, s.Encoder, o)
	if err != nil {
		return nil, fmt.Errorf("fitting: %w", err)
	}
	fit.Queries, fit.EncodeSeconds, fit.Loss = rep.Queries, rep.Encode.Seconds(), w.Loss
	s.fitted[key] = w
	if s.CacheDir == "" {
		return w, nil
	}
	if err := private.MkdirAll(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("keeping the bridge of %s: %w", stack, err)
	}
	if err := w.Save(file); err != nil {
		return nil, fmt.Errorf("keeping the bridge of %s: %w", stack, err)
	}
	return w, nil
}

// fitOptions say which queries a fit draws.
func (s *Setting) fitOptions() train.Options {
	o := train.Options{Seed: s.Seed, QueriesPerPassage: s.QueriesPerPassage, MaxQueries: s.MaxFitQueries, Steps: s.FitSteps, LearningRate: s.FitRate, Reserve: s.Clean}
	fitBy(s.Constants, &o)
	o.Alone, o.Side = s.alone, s.side
	o.RLR.Centred = s.Spell != nil
	return o
}

// fitKey names everything that a fit depends on: stack, seeds and numbers, the encoder, and
// whether the dense vector is left out. If fits are kept in files, it also covers the texts
// and vectors of the passages, and the program itself, since another build may fit
// differently.
func (s *Setting) fitKey(stack string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%d\x00%d\x00%t\x00%s\x00%t\x00%s\x00%t\x00%d\x00%d\x00%v\x00%s\x00", stack, s.Seed, s.QueriesPerPassage, s.MaxFitQueries, s.Clean, s.Constants.Only(ofFits), s.alone, s.Encoder.Fingerprint().Digest(), s.Mates != nil, s.FitPassages, s.FitSteps, s.FitRate, s.side)
	if s.CacheDir != "" {
		var b []byte
		for i, text := range s.Targets.Texts {
			b = binary.LittleEndian.AppendUint64(b[:0], uint64(len(text)))
			b = append(b, text...)
			for _, x := range s.Passages[i].Dense {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
			h.Write(b)
		}
		digest, err := programDigest()
		if err != nil {
			return "", fmt.Errorf("keeping fitted bridges: %w", err)
		}
		h.Write(digest)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// programDigest is the SHA-256 of the running program's file.
var programDigest = sync.OnceValues(func() ([]byte, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
})
