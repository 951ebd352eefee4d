package secret_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/secret"
)

func TestHide(t *testing.T) {
	for in, want := range map[string]string{
		"a key sk-1 and sk-1":                            "a key [key] and [key]",
		"Get \"http://me:pw@host/a\": refused":           "Get \"http://…@host/a\": refused",
		"http://token@host http://me:a/b?c#d@host/x":     "http://…@host http://…@host/x",
		"open http:/me:pw@host: no such file":            "open http:/…@host: no such file",
		"http://h/?a=1&api_key=pw&b=2, PASSWORD=x":       "http://h/?a=1&api_key=…&b=2, PASSWORD=x",
		"http://h/?Token=pw#x":                           "http://h/?Token=…#x",
		"https://medium.com/@me/text is no file":         "https://medium.com/@me/text is no file",
		"http://127.0.0.1:80/a: mail me@host":            "http://127.0.0.1:80/a: mail me@host",
		`C:\a@b, c:/a@b, doc:12@v3, me@host, a?key, a=b`: `C:\a@b, c:/a@b, doc:12@v3, me@host, a?key, a=b`,
	} {
		if got := secret.Hide(in, "sk-1", ""); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://host:80/a/b":          "http://host:80/a/b",
		"postgres://a:1,[::1]:2,b/db": "postgres://a:1,[::1]:2,b/db",
		"http://me:pw@host/a":         "http://…",
		"http://me:p/w?#x@host/a":     "http://…",
		"http://token@host/a":         "http://…",
		"http://me:pw/a":              "http://…",
		"http://host/a?key=pw":        "http://host/a?…",
		"http://host/a#pw":            "http://host/a?…",
		"me:pw@host":                  "…",
		"folder/a@b":                  "folder/a@b",
		"folder":                      "folder",
		"":                            "",
		"http://":                     "http://",
	} {
		if got := secret.URL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	for in, want := range map[string]string{"https://HOST/a": "https://host:443", "http://host": "http://host:80", "https://host:8443/": "https://host:8443"} {
		u, err := url.Parse(in)
		if err != nil || secret.Origin(u) != want {
			t.Errorf("%q: %q, %v", in, secret.Origin(u), err)
		}
	}
}

// TestError: an error without a secret stays what it is; of another errors.Is alone finds what it is.
func TestError(t *testing.T) {
	plain := fmt.Errorf("a: %w", context.Canceled)
	if err := secret.Error(plain, "sk-1"); err != plain || secret.Error(nil) != nil {
		t.Errorf("%v became another", err)
	}
	err := secret.Error(fmt.Errorf("sk-1: %w", context.Canceled), "sk-1")
	if !errors.Is(err, context.Canceled) || errors.Unwrap(err) != nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "sk-1") {
		t.Errorf("%+v", err)
	}
}
