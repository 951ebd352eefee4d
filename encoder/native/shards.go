package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/safetensors"
)

// Bounds of an index of shards.
const (
	maxIndexBytes = 16 << 20
	maxShards     = 1 << 10
)

// shards are several safetensors files.
type shards struct {
	files map[string]tensorsFile // by their names
	of    map[string]string      // the file of each tensor
}

// openShards opens the files of weights in dir that their index names.
func openShards(dir string) (*shards, error) {
	path := filepath.Join(dir, fileShards)
	b, err := regular.ReadFile(path, maxIndexBytes)
	if err != nil {
		return nil, err
	}
	var index struct {
		Of map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(b, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &shards{files: map[string]tensorsFile{}, of: index.Of}
	for tensor, name := range index.Of {
		if _, open := s.files[name]; open {
			continue
		}
		if name != filepath.Base(name) || !filepath.IsLocal(name) || len(s.files) == maxShards {
			return nil, errors.Join(fmt.Errorf("%s: tensor %q is said to lie in %q; %d files beside the index are read", path, tensor, name, maxShards), s.Close())
		}
		f, err := safetensors.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.files[name] = tensorsFile{f}
	}
	return s, nil
}

func (s *shards) shape(name string) []int64 {
	f, ok := s.files[s.of[name]]
	if !ok {
		return nil
	}
	return f.shape(name)
}

func (s *shards) floats(name string, dst []float32) error {
	return s.files[s.of[name]].floats(name, dst)
}

func (s *shards) reader(name string) (*io.SectionReader, error) { return s.files[s.of[name]].reader(name) }

// Close closes all files.
func (s *shards) Close() error {
	var all error
	for _, f := range s.files {
		all = errors.Join(all, f.Close())
	}
	return all
}
