package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/internal/filelock"
)

// lock takes the artifact's lock, which only one process can hold, and returns the
// function that releases it. The system frees it when the process dies. A wait of more
// than s.silence is logged.
func (s *session) lock(ctx context.Context, name string) (func(), error) {
	dir := filepath.Join(s.cache, "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w; name a writable one in LEXSEM_CACHE", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", name, err)
	}
	begin, said := time.Now(), time.Now()
	for {
		err := filelock.Try(f, true)
		if err == nil {
			return func() { filelock.Release(f) }, nil
		}
		if errors.Is(err, filelock.ErrHeld) {
			if time.Since(said) >= s.silence {
				said = time.Now()
				s.report.logf("%s: waiting for another process that is fetching it (%.0f s)", name, time.Since(begin).Seconds())
			}
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(100 * time.Millisecond):
				continue
			}
		}
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
}
