package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/private"
)

// bridges reads the files of bridges, and removes those that the manifest no longer
// names.
func (x *restorer) bridges(ctx context.Context) error {
	crc := map[string]uint32{}
	for _, br := range x.manifest.Bridges {
		crc[br.File] = br.CRC32C
	}
	dir := filepath.Join(x.s.dir, bridgesName)
	for x.kind == frameBridge {
		name := string(x.payload)
		want, ok := crc[name]
		if !ok {
			return x.refuse(fmt.Sprintf("its manifest names no bridge %.80q", name), nil)
		}
		got, err := x.bridge(ctx, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if got != want {
			return x.refuse(fmt.Sprintf("bridge %q is not the file that its manifest names", name), nil)
		}
	}
	entries, err := entriesOf(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := crc[e.Name()]; ok {
			delete(crc, e.Name())
		} else if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	for name := range crc {
		return x.refuse(fmt.Sprintf("bridge %q is missing", name), nil)
	}
	return nil
}

// bridge writes one file and returns its checksum.
func (x *restorer) bridge(ctx context.Context, path string) (uint32, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, private.File)
	if err != nil {
		return 0, err
	}
	var sum bridgeSum
	for err == nil {
		if err = x.next(ctx); err != nil || x.kind != frameBytes {
			break
		}
		sum.add(x.payload)
		_, err = f.Write(x.payload)
	}
	return sum.crc, errors.Join(err, f.Sync(), f.Close())
}
