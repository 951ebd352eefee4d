package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"

	"github.com/lexsem/lexsem/internal/provision/internal/clientconf"
	"github.com/lexsem/lexsem/internal/provision/internal/web"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/secret"
)

// maxArchive bounds a file that is fetched.
const maxArchive = 1 << 30

// network holds the settings with which a session reaches servers: those of the user's
// package clients.
type network struct {
	client *web.Client
	mu     sync.Mutex
	logins map[string]string // Authorization headers by origin
}

// login remembers the credentials for a registry.
func (n *network) login(r clientconf.Registry) {
	u, err := url.Parse(r.URL)
	if err != nil || r.Authorization == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logins[secret.Origin(u)] = r.Authorization
}

// newNetwork reads certificates, proxies and credentials.
func (s *session) newNetwork() (*network, error) {
	n := &network{logins: map[string]string{}}
	py, err := s.env.Python() // whose error the index source reports
	if err != nil {
		py = clientconf.Python{}
	}
	roots, err := s.roots(py.Cert)
	if err != nil {
		return nil, err
	}
	either := func(name string) string {
		return cmp.Or(s.env.Getenv(name), s.env.Getenv(strings.ToLower(name)))
	}
	proxies := httpproxy.Config{HTTPProxy: cmp.Or(either("HTTP_PROXY"), py.Proxy), HTTPSProxy: cmp.Or(either("HTTPS_PROXY"), py.Proxy),
		NoProxy: either("NO_PROXY"), CGI: s.env.Getenv("REQUEST_METHOD") != ""}
	if token := s.env.Getenv("HF_TOKEN"); token != "" {
		n.login(clientconf.Registry{URL: s.hub, Authorization: "Bearer " + token})
	}
	n.client = web.New(web.Options{
		Proxy: proxies.ProxyFunc(), Roots: roots, Silence: s.silence, Backoff: s.backoff,
		Log: func(line string) { s.report.logf("%s", line) },
		Authorization: func(origin string) string {
			n.mu.Lock()
			defer n.mu.Unlock()
			if h, ok := n.logins[origin]; ok {
				return h
			}
			u, err := url.Parse(origin)
			if err != nil {
				return ""
			}
			h, err := s.env.Netrc(u.Hostname())
			if err != nil {
				s.report.logf("the file with passwords is not used: %v", err)
			}
			n.logins[origin] = h
			return h
		},
	})
	return n, nil
}

// roots returns the certificates of the system and of the user's clients.
func (s *session) roots(cert string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, f := range []struct{ where, path string }{{"PIP_CERT or cert in pip.conf", cert},
		{"SSL_CERT_FILE", s.env.Getenv("SSL_CERT_FILE")}, {"REQUESTS_CA_BUNDLE", s.env.Getenv("REQUESTS_CA_BUNDLE")}} {
		if f.path == "" {
			continue
		}
		if pool == nil {
			var err error
			if pool, err = x509.SystemCertPool(); err != nil {
				pool = x509.NewCertPool()
			}
		}
		b, err := regular.ReadFile(f.path, 16<<20)
		if err != nil {
			return nil, fmt.Errorf("certificates of %s: %w", f.where, err)
		}
		if !pool.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s: %s holds no certificate; name a PEM file", f.where, f.path)
		}
	}
	return pool, nil
}

// partial is the path of a file that is being fetched. It stays the same across runs, so
// that the next run completes the file.
func (s *session) partial(artifact, key string) (string, error) {
	dir := filepath.Join(s.cache, "partial", artifact)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%.16x", sha256.Sum256([]byte(key)))), nil
}

// dropPartial removes partly fetched files of an artifact.
func (s *session) dropPartial(artifact string) error {
	return os.RemoveAll(filepath.Join(s.cache, "partial", artifact))
}

// fetchFile downloads a file, completes the remains of an earlier run, and moves it to
// dst once its length and its digest, if known, are right. If a completed file is wrong,
// it is fetched once more. done and total are the progress of the whole transfer.
func (s *session) fetchFile(ctx context.Context, t transfer, address string, f File, dst string, done, total int64) error {
	n, err := s.network()
	if err != nil {
		return err
	}
	path, err := s.partial(t.artifact, address)
	if err != nil {
		return err
	}
	s.report.logf("%s: fetching %s", t.artifact, web.Shown(address))
	p := web.Piece{URL: address, Most: cmp.Or(f.Size, maxArchive)}
	each := func(have, all int64) {
		s.report.event(Event{Artifact: t.artifact, Route: t.route, Bytes: done + have, Total: cmp.Or(total, all)})
	}
	for {
		resumed, err := n.client.Download(ctx, p, path, each)
		if errors.Is(err, web.ErrTooLong) {
			return errors.Join(fmt.Errorf("%w: %w", ErrArchive, err), web.Remove(path))
		}
		if err != nil {
			return err
		}
		sum, err := hashFile(ctx, path)
		if err != nil {
			return err
		}
		if f.SHA256 == "" || sum == f.SHA256 {
			return errors.Join(os.Rename(path, dst), web.Remove(path))
		}
		if err := web.Remove(path); err != nil {
			return err
		}
		if !resumed {
			return fmt.Errorf("%w: %s has %s, want %s", ErrDigest, f.Member, sum, f.SHA256)
		}
		s.report.logf("%s: what an earlier run had fetched does not fit; fetching it anew", t.artifact)
	}
}

// fetchMembers reads the wanted members of an archive on a server. If the server supports
// ranges, it reads nothing else.
func (s *session) fetchMembers(ctx context.Context, t transfer, f indexFile) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("gave up after %v", s.limit))
	defer cancel()
	err := s.fromParts(ctx, t, f)
	if errors.Is(err, errResumed) {
		s.report.logf("%s: what an earlier run had fetched does not fit; fetching it anew", t.artifact)
		err = s.fromParts(ctx, t, f)
	}
	if errors.Is(err, web.ErrNoRanges) || errors.Is(err, web.ErrChanged) || errors.Is(err, errMostOfIt) {
		archive := filepath.Join(t.tmp, "archive.zip")
		if err = s.fetchFile(ctx, t, f.url, File{Member: f.name, SHA256: f.sha256}, archive, 0, 0); err == nil {
			err = extract(ctx, archive, t)
		}
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

var (
	// errMostOfIt says that the wanted members are so much of an archive that it is
	// better fetched whole and checked against the index's digest.
	errMostOfIt = errors.New("most of it is wanted")
	// errResumed says that parts left by an earlier run are wrong.
	errResumed = errors.New("completed parts are wrong")
)

// fromParts reads the directory of the archive, fetches the wanted members, and
// extracts them as from any archive.
func (s *session) fromParts(ctx context.Context, t transfer, f indexFile) error {
	n, err := s.network()
	if err != nil {
		return err
	}
	remote, err := n.client.Open(ctx, f.url)
	if err != nil {
		return err
	}
	resumed, err := s.readParts(ctx, t, f, remote)
	err = errors.Join(err, remote.Close()) // before its files are removed
	if errors.Is(err, ErrDigest) || errors.Is(err, ErrArchive) {
		if err := errors.Join(s.dropPartial(t.artifact), emptyFolder(t.dir)); err != nil {
			return err
		}
		if resumed {
			err = fmt.Errorf("%w: %w", errResumed, err)
		}
	}
	return err
}

func (s *session) readParts(ctx context.Context, t transfer, f indexFile, remote *web.Remote) (resumed bool, err error) {
	if remote.Size() > maxArchive {
		return false, fmt.Errorf("%w: %s is of %d bytes, more than %d", ErrArchive, f.name, remote.Size(), maxArchive)
	}
	members, total, err := wantedParts(remote, remote.Size(), t.outer())
	if err != nil {
		return false, err
	}
	if total > remote.Size()/4*3 {
		return false, errMostOfIt
	}
	s.report.logf("%s: fetching %.1f of the %.1f MB of %s", t.artifact, float64(total)/1e6, float64(remote.Size())/1e6, web.Shown(f.url))
	var done int64
	for _, m := range members {
		path, err := s.partial(t.artifact, fmt.Sprint(f.url, " ", m.from))
		if err != nil {
			return resumed, err
		}
		old, err := remote.Fetch(ctx, m.from, m.size, path, func(have, _ int64) {
			s.report.event(Event{Artifact: t.artifact, Route: t.route, Bytes: done + have, Total: total})
		})
		if err != nil {
			return resumed, err
		}
		resumed = resumed || old
		done += m.size
	}
	return resumed, extractFrom(ctx, remote, remote.Size(), false, t)
}

// emptyFolder removes the files in dir.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// checkSum refuses a malformed digest of an index.
func checkSum(sum string) bool {
	b, err := hex.DecodeString(sum)
	return err == nil && len(b) == sha256.Size
}
