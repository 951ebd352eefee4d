package command

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"

	"github.com/lexsem/lexsem/internal/regular"
)

// certificate is the certificate of a server. It is read again when its files change, since certificates are renewed while a
// server runs; the former one stays if they cannot be read.
type certificate struct {
	files [2]string // the certificate, its key
	log   *slog.Logger

	mu   sync.Mutex
	was  [2]fs.FileInfo
	pair *tls.Certificate
}

// get is tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for i, file := range c.files {
		now, other := regular.Changed(c.was[i], file)
		c.was[i], changed = now, changed || other
	}
	if !changed && c.pair != nil {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	switch {
	case err == nil && c.pair != nil:
		c.log.Info("the certificate was read again", "file", c.files[0])
	case err != nil && c.pair == nil:
		return nil, fmt.Errorf("reading the certificate: %w", err)
	case err != nil:
		c.log.Error("the certificate has changed and cannot be read; the former one stays", "error", err)
		return c.pair, nil
	}
	c.pair = &pair
	return c.pair, nil
}
