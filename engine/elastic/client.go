package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// client calls one node after the other until one answers.
type client struct {
	nodes    []string
	key      string
	patience time.Duration
	http     *http.Client
	next     *atomic.Uint32 // the node that the next call begins with
}

func newClient(o Options) client {
	h := o.HTTP
	if h == nil {
		h = &http.Client{
			// A redirection would carry texts, and the key, to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
				TLSHandshakeTimeout: 10 * time.Second,
				MaxIdleConnsPerHost: 64,
				IdleConnTimeout:     90 * time.Second,
				DisableCompression:  true, // which takes longer than the way between two machines of a cluster
			},
		}
	}
	return client{o.Nodes, o.Key, o.Patience, h, new(atomic.Uint32)}
}

// failure is an error that the server gave.
type failure struct {
	status int
	kind   string // such as "version_conflict_engine_exception"
	reason string
	where  string
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s: %v: status %d: %s: %s", f.where, ErrServer, f.status, f.kind, f.reason)
}

func (f *failure) Unwrap() error { return ErrServer }

// passes says that another call may succeed: the node is too busy, or a search has
// asked a copy of a shard whose node has just gone.
func (f *failure) passes() bool {
	switch f.status {
	case 429, 502, 503, 504:
		return true
	}
	return f.status == 500 && f.kind == "search_phase_execution_exception"
}

// status is that of an error of the server, 0 for another error.
func status(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.status
	}
	return 0
}

// Bounds of answers and of calls.
const (
	largestAnswer = 1 << 30
	oneCall       = time.Minute // that a node has to answer
	firstWait     = 50 * time.Millisecond
	longestWait   = 2 * time.Second
)

// call sends in as JSON, bytes as they are, and decodes the answer into out, nil for an
// answer that nobody reads. A node that does not answer, or whose failure passes, is followed
// by the next, and by itself again, until patience ends. So what in asks for may be done twice.
func (c client) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	kind := "application/json"
	switch v := in.(type) {
	case nil:
	case []byte:
		body, kind = v, "application/x-ndjson"
	default:
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%w: %v", ErrServer, err)
		}
	}
	first := c.next.Add(1)
	began, wait := time.Now(), firstWait
	for try := uint32(0); ; try++ {
		node := c.nodes[int((first+try)%uint32(len(c.nodes)))]
		again, err := c.once(ctx, method, node+path, kind, body, out)
		if err == nil {
			return nil
		}
		if end := ctx.Err(); end != nil {
			return end
		}
		if !again {
			return err
		}
		if time.Since(began) > c.patience {
			return fmt.Errorf("%w; gave up after %d tries in %s", err, try+1, time.Since(began).Round(time.Second))
		}
		if int(try+1)%len(c.nodes) != 0 {
			continue // another node may answer at once
		}
		t := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		wait = min(2*wait, longestWait)
	}
}

// once makes one call. again says that another one may succeed.
func (c client) once(ctx context.Context, method, to, kind string, body []byte, out any) (again bool, err error) {
	where := method + " " + to
	failed := func(err error) error { return fmt.Errorf("%s: %w: %w", where, ErrServer, err) }
	ctx, cancel := context.WithTimeoutCause(ctx, oneCall, fmt.Errorf("no answer within %s", oneCall))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return false, failed(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "lexsem")
	if c.key != "" {
		req.Header.Set("Authorization", "ApiKey "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the URL is named once
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return true, failed(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, largestAnswer+1))
	switch {
	case err != nil:
		return true, failed(fmt.Errorf("the answer breaks off: %w", err))
	case len(data) > largestAnswer:
		return false, failed(fmt.Errorf("an answer of more than %d bytes", largestAnswer))
	case res.StatusCode/100 != 2:
		f := refusal(res.StatusCode, data)
		f.where = where
		return f.passes(), f
	}
	if out == nil {
		return false, nil
	}
	if c, ok := out.(*candidates); ok {
		err = c.unmarshal(data)
	} else {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return false, failed(fmt.Errorf("the answer is not what it should be: %w", err))
	}
	return false, nil
}

// refusal reads the body of an error.
func refusal(status int, body []byte) *failure {
	f := &failure{status: status, kind: http.StatusText(status)}
	var out struct {
		Error struct {
			Type, Reason string
			Root         []struct{ Type, Reason string } `json:"root_cause"`
		}
	}
	if json.Unmarshal(body, &out) == nil && out.Error.Type != "" {
		f.kind, f.reason = out.Error.Type, out.Error.Reason
		if len(out.Error.Root) > 0 && out.Error.Root[0].Reason != f.reason {
			f.reason += ": " + out.Error.Root[0].Reason
		}
	}
	f.reason = printable(f.reason)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		f.reason += "; give an API key that may use the index"
	}
	return f
}

// printable is what of a server's words may stand in an error.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}
