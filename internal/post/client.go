// Package post calls servers that take and give JSON. Start with [Client.Post]. Status 429 and 5xx and broken
// connections are tried again, answers are bounded, and no error holds the key. A Client is safe for
// concurrent use. [Key] finds the key of a service in options or environment.
package post

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
	"time"

	"github.com/lexsem/lexsem/internal/secret"
)

// Defaults of a Client.
const (
	defaultRetries = 6
	defaultTimeout = time.Minute
	firstWait      = 500 * time.Millisecond
	longestWait    = 30 * time.Second
	// longestAfter is the longest that a server may ask to wait by Retry-After.
	longestAfter = 5 * time.Minute
)

// Client posts JSON. Its fields are not changed once it is in use; it is safe for
// concurrent use.
type Client struct {
	URL     string // that is posted to
	Err     error  // what every failure wraps, and begins with
	Key     string // sent as a bearer token, and kept out of every error; "" for none
	KeyHint string // what to do when the key is missing or wrong
	Nobody  string // what to do when nobody is there
	Retries int    // calls after the first that fails; 0 means 6, below 0 none
	Timeout time.Duration
	HTTP    *http.Client
	// Message takes a server's words out of the body of an error, and whether trying
	// again is of no use. Bodies that it does not know it leaves empty.
	Message func(body []byte) (message string, final bool)
}

// CheckURL returns the URL of path below base, or why there is none: it must be http
// or https, and hold no name, password or query. Errors hold none of these.
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

// failure is one call that failed.
type failure struct {
	err   error
	again bool          // another one may succeed
	after time.Duration // the least to wait before it
}

// Post sends in and decodes the answer of at most limit bytes into out. Answers of
// status 429 and 5xx, and connections that break, are tried again, after what
// Retry-After says or a wait that doubles; others are not. Errors wrap c.Err,
// and name the server's request id, but not the key.
func (c *Client) Post(ctx context.Context, in, out any, limit int64) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	retries := cmp.Or(c.Retries, defaultRetries)
	for try := 0; ; try++ {
		f := c.once(ctx, body, out, limit)
		if f == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case !f.again:
			return f.err
		case try >= retries:
			return fmt.Errorf("%w; gave up after %d tries", f.err, try+1)
		case f.after > longestAfter:
			return fmt.Errorf("%w; it asks to wait %s, try again then", f.err, f.after.Round(time.Second))
		}
		if err := pause(ctx, cmp.Or(f.after, wait(try))); err != nil {
			return err
		}
	}
}

// once makes one call; nil is success.
func (c *Client) once(ctx context.Context, body []byte, out any, limit int64) *failure {
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return &failure{err: c.failed("", err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "lexsem")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	res, err := secret.Client(cmp.Or(c.HTTP, shared)).Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the URL is named once
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		// That nobody is there, or another than it should be, does not pass by itself
		// while somebody waits.
		var dial *net.OpError
		var other *tls.CertificateVerificationError
		nobody := errors.As(err, &dial) && dial.Op == "dial"
		if nobody && c.Nobody != "" {
			err = fmt.Errorf("%w; %s", err, c.Nobody)
		}
		return &failure{err: c.failed("", err), again: !nobody && !errors.As(err, &other)}
	}
	defer res.Body.Close()
	id := c.printable(cmp.Or(res.Header.Get("X-Request-Id"), res.Header.Get("Request-Id")), 100)
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	switch {
	case res.StatusCode != http.StatusOK:
		return c.refused(res, id, data)
	case err != nil:
		return &failure{err: c.failed(id, fmt.Errorf("the answer breaks off: %w", err)), again: true}
	case int64(len(data)) > limit:
		return &failure{err: c.failed(id, fmt.Errorf("an answer of more than %d bytes", limit))}
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &failure{err: c.failed(id, fmt.Errorf("the answer is not what it should be: %w", err))}
	}
	return nil
}

// refused is an answer with an error's status.
func (c *Client) refused(res *http.Response, id string, body []byte) *failure {
	message, final := c.Message(body)
	said := fmt.Errorf("status %d", res.StatusCode)
	if message = c.printable(message, 500); message != "" {
		said = fmt.Errorf("status %d: %s", res.StatusCode, message)
	}
	code := res.StatusCode
	if (code == http.StatusUnauthorized || code == http.StatusForbidden) && c.KeyHint != "" {
		said = fmt.Errorf("%w; %s", said, c.KeyHint)
	}
	return &failure{
		err:   c.failed(id, said),
		again: (code == http.StatusTooManyRequests || code >= 500) && !final,
		after: retryAfter(res.Header, time.Now()),
	}
}

// failed tells what was called, and hides the key.
func (c *Client) failed(id string, err error) error {
	if id != "" {
		id = " (request " + id + ")"
	}
	return &failed{kind: c.Err, what: secret.Hide(fmt.Sprintf("POST %s%s: %v", c.URL, id, err), c.Key), err: err}
}

// printable is printable of s without the key, of which a cut would leave a part.
func (c *Client) printable(s string, n int) string { return printable(secret.Hide(s, c.Key), n) }

// failed is a failure in words that hold no key. What it comes of is there for
// errors.Is alone.
type failed struct {
	kind error
	what string
	err  error
}

func (e *failed) Error() string { return fmt.Sprintf("%v: %s", e.kind, e.what) }

// Is reports the kind, and what the failure comes of.
func (e *failed) Is(target error) bool { return target == e.kind || errors.Is(e.err, target) }

// shared follows no redirection: it would carry texts, and make a GET of a POST.
var shared = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	},
}
