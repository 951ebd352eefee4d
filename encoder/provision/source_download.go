package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// The download source fetches over HTTP without any client: an archive of
// the release page, or the single files of a model from the hub.
var _ = registerSource("download", func(ctx context.Context, s *session, t transfer) error {
	p := t.pkg
	if p.Archive != "" {
		f := File{Member: p.Archive, Name: p.Archive, Size: p.Size, SHA256: p.SHA256}
		if err := s.download(ctx, t, s.releases+"v"+p.Version+"/"+p.Archive, f, t.tmp, f.Size, 0); err != nil {
			return err
		}
		return extract(ctx, filepath.Join(t.tmp, p.Archive), t)
	}
	var total, done int64
	for _, f := range p.Files {
		total += f.Size
	}
	for _, f := range p.Files {
		if err := s.download(ctx, t, s.hub+p.Name+"/resolve/"+p.Version+"/"+f.Member, f, t.dir, total, done); err != nil {
			return err
		}
		done += f.Size
	}
	return nil
})

// download fetches url into dir as f. A server that sends nothing for
// s.silence is given up. total and done place f in the whole transfer.
func (s *session) download(ctx context.Context, t transfer, url string, f File, dir string, total, done int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := fmt.Errorf("%s: the server sent nothing for %v", url, s.silence)
	watch := time.AfterFunc(s.silence, func() { cancel(silent) })
	defer watch.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	s.report.logf("%s: downloading %s", t.artifact, url)
	client := http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		DialContext:       (&net.Dialer{Timeout: s.silence}).DialContext,
		DisableKeepAlives: true,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return explain(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server answered %s", url, resp.Status)
	}
	if total == 0 {
		total = max(resp.ContentLength, 0)
	}
	begin, said := time.Now(), time.Now()
	body := &countingReader{r: resp.Body, onRead: func(n int64) {
		watch.Reset(s.silence)
		if time.Since(said) >= s.silence {
			said = time.Now()
			s.report.logf("%s: downloading for %.0f s, %.1f MB so far", t.artifact, time.Since(begin).Seconds(), float64(n)/1e6)
		}
		s.report.event(Event{Artifact: t.artifact, Route: t.pkg.Via, Bytes: done + n, Total: total})
	}}
	if err := store(ctx, body, f, dir); err != nil {
		return explain(ctx, err)
	}
	return nil
}

// explain prefers the reason for which ctx was cancelled over err.
func explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// countingReader reports the number of bytes read so far after each read.
type countingReader struct {
	r      io.Reader
	n      int64
	onRead func(total int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.n += int64(n)
		c.onRead(c.n)
	}
	return n, err
}
