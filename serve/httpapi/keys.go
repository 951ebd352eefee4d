package httpapi

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// Scope is what a key permits.
type Scope uint8

// Scopes; each includes those before it.
const (
	ScopeNone  Scope = iota // what anybody may: health, and the description of the API
	ScopeRead               // searches, embeddings, documents, statistics
	ScopeWrite              // storing, deleting, collections
)

// String returns "none", "read" or "write".
func (s Scope) String() string {
	return [...]string{"none", "read", "write"}[min(s, ScopeWrite)]
}

// minKey is the minimum length of a key: 16 characters of base64 are 96 bits.
const minKey, maxKeys, maxKeyFile = 16, 10_000, 1 << 20

// Keys are the keys of a server. Only their digests are kept. Keys is safe for concurrent use.
type Keys struct {
	path string // of their file, "" for none

	mu      sync.RWMutex
	file    fs.FileInfo // as it was when it was read last
	digests [][sha256.Size]byte
	scopes  []Scope
}

// ReadKeys reads a file of keys; ParseKeys describes the format. A server reads it again when it changes, and keeps the keys that it
// has if it cannot. On Unix a file that other users can read is refused. The group may read a file of root, such as a secret
// that Kubernetes mounts.
func ReadKeys(path string) (*Keys, error) {
	info, err := os.Stat(path) // before the bytes, so that no later change is missed
	var raw []byte
	if err == nil {
		raw, err = regular.ReadFile(path, maxKeyFile)
	}
	if one := (*fs.PathError)(nil); errors.As(err, &one) {
		err = one.Err // without the name, which may be a key
	}
	if err != nil {
		return nil, fmt.Errorf("reading the keys: %w; name a file with one key per line", err)
	}
	if private.Exposed(info) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: other users may read the file of keys (mode %o); run chmod 600 on it, or mount a secret with mode 0400 or 0440", engine.ErrInvalid, info.Mode().Perm())}
	}
	k, err := ParseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k.path, k.file = path, info
	return k, nil
}

// refresh reads the file again if it has changed.
func (k *Keys) refresh(log *slog.Logger) {
	if k.path == "" {
		return
	}
	k.mu.RLock()
	was := k.file
	k.mu.RUnlock()
	now, changed := regular.Changed(was, k.path)
	if !changed {
		return
	}
	fresh, err := ReadKeys(k.path)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file = now; err != nil {
		log.Error("the file of keys has changed and cannot be read; the former keys stay", "error", err)
		return
	}
	k.file, k.digests, k.scopes = fresh.file, fresh.digests, fresh.scopes
	log.Info("the keys were read again", "keys", len(k.digests))
}

// ParseKeys reads keys, one per line: "read KEY" for a key that may only read, "write KEY" or KEY alone
// for a key that may do everything. It skips empty lines and lines that begin with #. A key has 16 to
// 1,024 visible ASCII characters. Errors wrap engine.ErrInvalid, name the line, and never contain a
// key.
func ParseKeys(raw []byte) (*Keys, error) {
	k := &Keys{}
	seen := map[[sha256.Size]byte]bool{}
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))))
	for n := 1; lines.Scan(); n++ {
		bad := func(what string) error { return fmt.Errorf("%w: line %d of the keys: %s", engine.ErrInvalid, n, what) }
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		scope := ScopeWrite
		if len(fields) == 2 && fields[0] == "read" {
			scope = ScopeRead
		} else if len(fields) == 2 && fields[0] != "write" {
			return nil, bad(`the word before the key is neither "read" nor "write"`)
		} else if len(fields) > 2 {
			return nil, bad(`more than a scope and a key; write "read KEY", "write KEY" or a key`)
		}
		key := fields[len(fields)-1]
		switch {
		case len(key) < minKey:
			return nil, bad(fmt.Sprintf("a key of %d characters is easy to guess; use %d or more", len(key), minKey))
		case len(key) > 1024 || strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }):
			return nil, bad("a key has 16 to 1,024 visible characters of ASCII")
		case len(k.digests) == maxKeys:
			return nil, bad(fmt.Sprintf("more than %d keys", maxKeys))
		}
		digest := sha256.Sum256([]byte(key))
		if seen[digest] {
			return nil, bad("this key is in the file twice; remove one")
		}
		seen[digest] = true
		k.digests, k.scopes = append(k.digests, digest), append(k.scopes, scope)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: reading the keys: %v", engine.ErrInvalid, err)
	}
	if len(k.digests) == 0 {
		return nil, fmt.Errorf("%w: the file holds no key; write one per line", engine.ErrInvalid)
	}
	return k, nil
}

// Scope returns what a key may do, or ScopeNone for an unknown key. The time depends only on the length
// of the key.
func (k *Keys) Scope(key string) Scope {
	digest := sha256.Sum256([]byte(key))
	found := 0
	k.mu.RLock()
	defer k.mu.RUnlock()
	for i := range k.digests {
		same := subtle.ConstantTimeCompare(digest[:], k.digests[i][:])
		found = subtle.ConstantTimeSelect(same, int(k.scopes[i]), found)
	}
	return Scope(found)
}

var errNoKey = errors.New("no key")

// keyOf returns the key in a request.
func keyOf(h http.Header) (string, error) {
	if key := h.Get("x-api-key"); key != "" {
		return key, nil
	}
	scheme, key, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", errNoKey
	}
	return strings.TrimSpace(key), nil
}

// allow checks that a request has a scope.
func (s *Server) allow(r *http.Request, need Scope) error {
	if s.o.Keys == nil || need == ScopeNone {
		return nil
	}
	s.o.Keys.refresh(s.o.Logger)
	key, err := keyOf(r.Header)
	if err != nil {
		return refuse(http.StatusUnauthorized, "unauthorized", "this server requires a key: send Authorization: Bearer KEY or x-api-key: KEY")
	}
	switch has := s.o.Keys.Scope(key); {
	case has == ScopeNone:
		return refuse(http.StatusUnauthorized, "unauthorized", "this server does not know the key")
	case has < need:
		return refuse(http.StatusForbidden, "forbidden", "this key may %s, but the call needs a key that may %s", has, need)
	}
	return nil
}
