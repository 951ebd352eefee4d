// Package secret keeps keys and passwords out of errors, logs and reports. [Error] and [Hide] clean an error
// or a text, [URL] cleans an address, and [Client] sends no key to another origin after a redirection.
package secret

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Mark replaces a key.
const Mark = "[key]"

var (
	// A scheme is followed by one slash if an address was cleaned like a path. After "user:", a password may
	// contain characters that end a host.
	inUser  = regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]+:/{1,2})[^/?#\s"<>:]*(:[^\s"<>]*)?@`)
	hosts   = regexp.MustCompile(`^(?:(?:\[[^\]]*\]|[^:,]*)(?::\d*)?(?:,|$))*$`)
	inQuery = regexp.MustCompile(`(?i)([?&;][\w.%-]*(?:key|token|password|passwd|pwd|secret|signature|credential|auth)=)[^&;#\s"<>]+`)
)

// Hide returns s with each key replaced by Mark, and without the users, passwords and keys in URLs.
func Hide(s string, keys ...string) string {
	for _, k := range keys {
		if k != "" {
			s = strings.ReplaceAll(s, k, Mark)
		}
	}
	return inQuery.ReplaceAllString(inUser.ReplaceAllString(s, "${1}…@"), "${1}…")
}

// URL is an address as an error may show it: without user, password, query and fragment, however malformed
// it is. A text that is not an address is returned unchanged.
func URL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && (ok || strings.ContainsRune(rest[:at], ':')) {
		return scheme + "…" // a password may hold any character, also one that ends a host
	}
	if !ok {
		return s
	}
	end := strings.IndexAny(rest, "?#")
	if end >= 0 {
		rest = rest[:end]
	}
	if authority, _, _ := strings.Cut(rest, "/"); !hosts.MatchString(authority) {
		return scheme + "…" // as of a user and a password without a host
	}
	if end >= 0 {
		rest += "?…"
	}
	return scheme + rest
}

// Plain reports whether a key can be sent: it must consist of visible ASCII characters.
func Plain(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Error is err if its text contains none of the keys and no password of a URL. Otherwise it is an error with
// the cleaned text, which matches the same errors as err in errors.Is.
func Error(err error, keys ...string) error {
	if err == nil {
		return nil
	}
	what := Hide(err.Error(), keys...)
	if what == err.Error() {
		return err
	}
	return &hidden{what, err}
}

// hidden has no Unwrap, which would expose the original text.
type hidden struct {
	what string
	err  error
}

func (h *hidden) Error() string        { return h.what }
func (h *hidden) Is(target error) bool { return errors.Is(h.err, target) }

// Client is c, except that redirections to another origin carry no Authorization.
func Client(c *http.Client) *http.Client {
	own := *c
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if Origin(r.URL) != Origin(via[0].URL) {
			r.Header.Del("Authorization")
		}
		if c.CheckRedirect != nil {
			return c.CheckRedirect(r, via)
		}
		if len(via) >= 10 { // as in net/http
			return errors.New("more than 10 redirections")
		}
		return nil
	}
	return &own
}

// Origin is scheme, host and port of an address, for which credentials are valid.
func Origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
