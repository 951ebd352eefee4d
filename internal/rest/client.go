// Package rest calls servers with JSON requests and answers. Start with [Client.Call] or [Client.Post]. Calls are
// repeated after status 429 and 5xx and after broken connections, so a server may run a call twice. Answers are
// bounded, and no error contains the key. A Client is safe for concurrent use. [Key] finds the key of a service in
// options or environment.
package rest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/internal/secret"
)

// Client calls a server, or interchangeable servers. Its fields must not change once it is in use.
type Client struct {
	URLs    []string // of the servers, to which the path of a call is added
	Err     error    // what every failure wraps, and begins with
	Scheme  string   // of the header Authorization; "" means Bearer
	Key     string   // is sent in that header, and kept out of every error; "" for none
	KeyHint string   // what to do when the key is missing or wrong
	Nobody  string   // what to do when nobody is there
	// Retries is the number of calls after a first failure; 0 means 6, a negative value none. It applies if
	// Patience is 0.
	Retries int
	// Patience is how long a call is repeated, on each server in turn, even while no server can be reached.
	Patience time.Duration
	Timeout  time.Duration // of one call; 0 means a minute
	HTTP     *http.Client  // nil means one for all clients
	// Refusal reads the body of an error answer; its results are "" for missing parts.
	Refusal func(body []byte) (kind, reason string)
	// Passes says of an answer that is an error whether another try may succeed; nil means Failure.Passing.
	Passes func(f *Failure) bool

	turn atomic.Uint32 // the server that the next call begins with
}

const (
	defaultRetries = 6
	defaultTimeout = time.Minute
	largestAnswer  = 1 << 30
	// longestAfter is the longest that a server may ask to wait by Retry-After.
	longestAfter = 5 * time.Minute
)

// CheckURL returns the URL of path below base, or why it is invalid: it must be http or https, and have no
// name, password or query. Errors contain none of these.
func CheckURL(base, path string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err == nil && u.User != nil, strings.Contains(base, "@"): // a password may hold what ends a host
		return "", errors.New("base URL with a user or a password; give the key by its variable, and write an @ of a path as %40")
	case err != nil:
		return "", errors.New("base URL that cannot be read; use one like http://host:port/path")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("base URL %q; use one like http://host:port/path", secret.URL(base))
	}
	return u.JoinPath(path).String(), nil
}

// Decoder is an answer that decodes itself, faster than encoding/json.
type Decoder interface{ Decode(answer []byte) error }

// Post sends in to the one server, and decodes the answer of at most limit bytes into out.
func (c *Client) Post(ctx context.Context, in, out any, limit int64) error {
	return c.call(ctx, http.MethodPost, "", in, out, limit)
}

// Call sends in as JSON (bytes as lines of JSON), and decodes the answer into out; with nil the answer is
// ignored.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	return c.call(ctx, method, path, in, out, largestAnswer)
}

func (c *Client) call(ctx context.Context, method, path string, in, out any, limit int64) error {
	var body []byte
	kind := "application/json"
	switch v := in.(type) {
	case nil:
	case []byte:
		body, kind = v, "application/x-ndjson"
	default:
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%w: %v", c.Err, err)
		}
	}
	first, w := c.turn.Add(1), slow
	if c.Patience > 0 {
		w = quick
	}
	return w.retry(ctx, enough(c.Patience, cmp.Or(c.Retries, defaultRetries)), func(try int) (again bool, after time.Duration, err error) {
		var f *Failure
		for i := range c.URLs { // another server may answer at once
			base := c.URLs[(int(first%uint32(len(c.URLs)))+try+i)%len(c.URLs)]
			if path != "" {
				base = strings.TrimSuffix(base, "/")
			}
			if f = c.once(ctx, method, base+path, kind, body, out, limit); f == nil {
				return false, 0, nil
			}
			if !f.again || ctx.Err() != nil {
				return false, 0, f
			}
		}
		switch {
		case c.Patience > 0:
			return true, 0, f
		case f.after > longestAfter:
			return false, 0, fmt.Errorf("%w; it asks to wait %s, try again then", f, f.after.Round(time.Second))
		}
		return true, f.after, f
	})
}

// Failure is a failed call, described without keys.
type Failure struct {
	Err          error  // Client.Err
	Where        string // what was called
	Status       int    // of an answer that is an error, else 0
	Kind, Reason string // what the server says of it

	hint  string
	cause error // of a call without an answer
	again bool  // another one may succeed
	after time.Duration
}

func (f *Failure) Error() string {
	said := fmt.Sprintf("status %d", f.Status)
	if f.Status == 0 {
		said = f.Reason
	} else {
		for _, s := range []string{f.Kind, f.Reason} {
			if s != "" {
				said += ": " + s
			}
		}
	}
	return fmt.Sprintf("%v: %s: %s%s", f.Err, f.Where, said, f.hint)
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Is matches the cause of a failure. It is hidden from errors.As, since it may contain a key.
func (f *Failure) Is(target error) bool { return errors.Is(f.cause, target) }

// Busy reports whether the status is that of a server or proxy that may answer another try.
func (f *Failure) Busy() bool {
	return f.Status == http.StatusTooManyRequests || f.Status == http.StatusBadGateway ||
		f.Status == http.StatusServiceUnavailable || f.Status == http.StatusGatewayTimeout
}

// Refused reports whether err is a server's refusal of the content, so that other or less content may be accepted.
func Refused(err error) bool {
	var f *Failure
	return errors.As(err, &f) && (f.Status == http.StatusBadRequest || f.Status == http.StatusRequestEntityTooLarge || f.Status == http.StatusUnprocessableEntity)
}

// Passing reports whether the status is 429 or 5xx.
func (f *Failure) Passing() bool { return f.Status == http.StatusTooManyRequests || f.Status >= 500 }

// Status is the HTTP status of a server's error, 0 for another error.
func Status(err error) int {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Status
	}
	return 0
}

// once makes one call; nil is success.
func (c *Client) once(ctx context.Context, method, to, kind string, body []byte, out any, limit int64) *Failure {
	where := method + " " + to
	failed := func(again bool, err error) *Failure {
		return &Failure{Err: c.Err, Where: secret.Hide(where, c.Key), Reason: secret.Hide(err.Error(), c.Key), cause: err, again: again}
	}
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return failed(false, err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "lexsem")
	if c.Key != "" {
		req.Header.Set("Authorization", cmp.Or(c.Scheme, "Bearer")+" "+c.Key)
	}
	res, err := secret.Client(cmp.Or(c.HTTP, shared)).Do(req)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // the URL is named once
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		// A server that is missing, or is another one, does not change while somebody waits.
		var dial *net.OpError
		var other *tls.CertificateVerificationError
		nobody := errors.As(err, &dial) && dial.Op == "dial"
		if nobody && c.Nobody != "" {
			err = fmt.Errorf("%w; %s", err, c.Nobody)
		}
		return failed(c.Patience > 0 || !nobody && !errors.As(err, &other), err)
	}
	defer res.Body.Close()
	if id := c.printable(cmp.Or(res.Header.Get("X-Request-Id"), res.Header.Get("Request-Id")), 100); id != "" {
		where += " (request " + id + ")"
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	switch {
	case res.StatusCode/100 != 2:
		f := &Failure{Err: c.Err, Where: secret.Hide(where, c.Key), Status: res.StatusCode, after: RetryAfter(res.Header, time.Now())}
		kind, reason := c.Refusal(data)
		f.Kind, f.Reason = c.printable(kind, 500), c.printable(reason, 500)
		if f.again = f.Passing(); c.Passes != nil {
			f.again = c.Passes(f)
		}
		if (f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden) && c.KeyHint != "" {
			f.hint = "; " + c.KeyHint
		}
		return f
	case err != nil:
		return failed(true, fmt.Errorf("the answer breaks off: %w", err))
	case int64(len(data)) > limit:
		return failed(false, fmt.Errorf("an answer of more than %d bytes", limit))
	case out == nil:
		return nil
	}
	if d, ok := out.(Decoder); ok {
		err = d.Decode(data)
	} else {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return failed(false, fmt.Errorf("the answer is not what it should be: %w", err))
	}
	return nil
}

// printable is Printable of s without the key; the key is removed first, since cutting could leave a part of
// it.
func (c *Client) printable(s string, n int) string { return Printable(secret.Hide(s, c.Key), n) }

// Close closes unused connections.
func (c *Client) Close() {
	if c.HTTP != nil {
		c.HTTP.CloseIdleConnections()
	}
}

// shared is the HTTP client for Clients without their own.
var shared = direct(10 * time.Second)

// Cluster returns an HTTP client for servers in the same network.
func Cluster() *http.Client {
	c := direct(3 * time.Second)
	t := c.Transport.(*http.Transport)
	t.ForceAttemptHTTP2, t.DisableCompression = false, true // it takes longer than the way between two machines
	return c
}

// direct returns a client that follows no redirections, which would send texts and the key to another server, and
// turn a POST into a GET.
func direct(dial time.Duration) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dial}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConnsPerHost:   64,
			IdleConnTimeout:       90 * time.Second,
			ForceAttemptHTTP2:     true,
			ExpectContinueTimeout: time.Second,
		},
	}
}
