// Package web reads files over HTTP, whole or in parts. Start with [New], then [Client.Download],
// [Client.Get] or [Client.Open]. A download that was cut is resumed, and a busy server is asked again. A
// Client is safe for concurrent use. Errors name an address by scheme, host and path alone, so they hold no
// credentials.
package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/lexsem/lexsem/internal/rest"
	"github.com/lexsem/lexsem/internal/secret"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrSilent answers a server that sent nothing for Options.Silence.
	ErrSilent = errors.New("the server sent nothing")
	// ErrTooLong answers a file that is longer than it may be.
	ErrTooLong = errors.New("longer")
	// ErrNoRanges answers a server that sends a file whole or not at all.
	ErrNoRanges = errors.New("the server sends no parts of files")
	// ErrChanged answers a file that changed while its parts were read.
	ErrChanged = errors.New("the file changed on the server")
)

const (
	tries     = 4                // in a row that bring nothing
	longest   = 60 * time.Second // between two tries, whatever the server asks for
	redirects = 10
)

// Options say how a Client reaches servers.
type Options struct {
	// Proxy returns the proxy for a request's address; nil means none.
	Proxy func(*url.URL) (*url.URL, error)
	// Roots are the certificates that are trusted; nil means the system's.
	Roots *x509.CertPool
	// Authorization returns the header of that name for requests to an origin
	// (see secret.Origin), or "". It is asked at every redirect. It may be nil.
	Authorization func(origin string) string
	// Silence is how long a server may send nothing.
	Silence time.Duration
	// Backoff is the wait before the second try; it doubles with every further one.
	Backoff time.Duration
	// Log, unless nil, is given a line for every wait.
	Log func(line string)
}

// Client reads files. It is safe for concurrent use.
type Client struct {
	o    Options
	http http.Client
}

// New returns a client.
func New(o Options) *Client {
	c := &Client{o: o}
	transport := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: o.Silence}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Silence,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if o.Proxy != nil {
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return o.Proxy(r.URL) }
	}
	c.http = http.Client{Transport: authorized{transport, o.Authorization}, CheckRedirect: follow}
	return c
}

// authorized adds to each request the credentials of its own origin only, even after a redirect.
type authorized struct {
	next   *http.Transport
	header func(origin string) string
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	r.Header.Del("Referer") // a redirect's, which may hold a signed address
	if a.header != nil {
		if h := a.header(secret.Origin(r.URL)); h != "" {
			r.Header.Set("Authorization", h)
		}
	}
	return a.next.RoundTrip(r)
}

func follow(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= redirects:
		return fmt.Errorf("more than %d redirects", redirects)
	case r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
		return errors.New("redirected from https to " + r.URL.Scheme)
	}
	return nil
}

// Shown is an address without user, password, query and fragment, since each may contain secrets.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// StatusError is an answer other than the requested file.
type StatusError struct {
	URL  string // as it may be shown
	Code int
	wait time.Duration // that the server asked for
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: the server answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// failure is the error of one attempt. Another attempt may succeed unless final is set.
type failure struct {
	error
	final bool
}

func (f failure) Unwrap() error { return f.error }

// worthwhile reports whether another attempt may succeed after err.
func worthwhile(err error) bool {
	var s *StatusError
	var f failure
	switch {
	case errors.As(err, &s):
		switch s.Code {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return s.wait <= longest
		}
		return false
	case errors.As(err, &f):
		return !f.final
	}
	return false
}

// again calls try until it succeeds, fails for good, or fails several times in a row without bringing data.
func (c *Client) again(ctx context.Context, try func() (brought bool, err error)) error {
	for failed := 0; ; {
		brought, err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if brought {
			failed = 0
		}
		if failed++; failed >= tries || !worthwhile(err) {
			return err
		}
		wait := min(c.o.Backoff<<(failed-1), longest)
		if s, ok := errors.AsType[*StatusError](err); ok {
			wait = max(wait, s.wait)
		}
		if c.o.Log != nil {
			c.o.Log(fmt.Sprintf("%v; trying again in %v", err, wait.Round(time.Millisecond)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// answer is a response; its body ends with an error when the server falls silent. The caller closes it.
type answer struct {
	*http.Response
	silent func() bool // whether it fell silent
	watch  *time.Timer
	cancel context.CancelCauseFunc
	c      *Client
	shown  string
}

// send makes one request.
func (c *Client) send(ctx context.Context, address string, header http.Header) (*answer, error) {
	shown := Shown(address)
	inner, cancel := context.WithCancelCause(ctx)
	a := &answer{cancel: cancel, c: c, shown: shown}
	a.silent = func() bool { return ctx.Err() == nil && errors.Is(context.Cause(inner), ErrSilent) }
	a.watch = time.AfterFunc(c.o.Silence, func() { cancel(ErrSilent) })
	r, err := http.NewRequestWithContext(inner, http.MethodGet, address, nil)
	if err != nil {
		a.stop()
		return nil, fmt.Errorf("%s: it is no address", shown)
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		a.stop()
		return nil, fmt.Errorf("%s: only http and https addresses are read", shown)
	}
	r.Header = header
	if a.Response, err = c.http.Do(r); err != nil {
		err = a.explain(ctx, err)
		a.stop()
		return nil, err
	}
	return a, nil
}

func (a *answer) stop() {
	a.watch.Stop()
	a.cancel(nil)
}

// Close closes the connection.
func (a *answer) Close() error {
	defer a.stop()
	return a.Body.Close()
}

// Read reads the body. After an error it may be tried again.
func (a *answer) Read(p []byte) (int, error) {
	a.watch.Reset(a.c.o.Silence)
	n, err := a.Body.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	if a.silent() {
		err = fmt.Errorf("%w for %v", ErrSilent, a.c.o.Silence)
	}
	return n, failure{fmt.Errorf("%s: %w", a.shown, err), false}
}

// explain returns the reason why there is no answer.
func (a *answer) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.silent() {
		return failure{fmt.Errorf("%s: %w for %v", a.shown, ErrSilent, a.c.o.Silence), true}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if strings.Contains(err.Error(), "Location header") { // which it quotes
		err = errors.New("redirected to an address that cannot be read")
	}
	// A connection that was kept open may be closed just when it is used again.
	cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
	return failure{secret.Error(fmt.Errorf("%s: %w", a.shown, err)), !cut} // a proxy's address may have a password
}

// status returns the error of an answer that is not the file.
func (a *answer) status() error {
	return &StatusError{URL: a.shown, Code: a.StatusCode, wait: rest.RetryAfter(a.Header, time.Now())}
}

// Page is a small file that was read whole.
type Page struct {
	URL  *url.URL // where it was in the end, which links in it start from
	Type string   // its media type, without parameters
	Body []byte
}

// Get reads a file of at most most bytes. accept is the Accept header. Errors: *StatusError, ErrTooLong,
// ErrSilent, ctx's error.
func (c *Client) Get(ctx context.Context, address, accept string, most int64) (p Page, err error) {
	err = c.again(ctx, func() (bool, error) {
		a, err := c.send(ctx, address, http.Header{"Accept": {accept}})
		if err != nil {
			return false, err
		}
		defer a.Close()
		if a.StatusCode != http.StatusOK {
			return false, a.status()
		}
		if p.Body, err = io.ReadAll(io.LimitReader(a, most+1)); err != nil {
			return false, err
		}
		if int64(len(p.Body)) > most {
			return false, fmt.Errorf("%s: it is %w than %d bytes", a.shown, ErrTooLong, most)
		}
		p.URL = a.Request.URL
		p.Type, _, _ = strings.Cut(strings.ToLower(a.Header.Get("Content-Type")), ";")
		p.Type = strings.TrimSpace(p.Type)
		return true, nil
	})
	return p, err
}
