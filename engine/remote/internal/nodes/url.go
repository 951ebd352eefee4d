package nodes

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/secret"
)

// URL names an object on several nodes: SCHEME://HOST:PORT[,HOST:PORT…]/NAME?VALUES.
type URL struct {
	Nodes  []string // base URLs: https with the value tls=true, which is not among Values
	Name   string
	Values map[string]string
}

// Parse reads a URL of a scheme; what is the kind of its name in errors.
func Parse(s, scheme, what string) (u URL, err error) {
	bad := func(format string, args ...any) (URL, error) {
		return URL{}, fmt.Errorf("%s; use %s://HOST:PORT/%s", fmt.Sprintf(format, args...), scheme, what)
	}
	rest, ok := strings.CutPrefix(s, scheme+"://")
	if !ok {
		return bad("backend %q", secret.URL(s))
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, name, _ := strings.Cut(rest, "/")
	if strings.Contains(s, "@") { // a password may hold what ends a host
		return URL{}, errors.New("a backend with a user or a password in its URL; give an API key by its variable")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return bad("backend %q: its settings cannot be read", secret.URL(s))
	}
	u.Name, u.Values = name, map[string]string{}
	base := "http://"
	for name, v := range values {
		if v[0] == "" { // the name may be a key
			return bad("backend %q: a setting without a value", secret.URL(s))
		}
		if name != "tls" {
			u.Values[name] = v[0]
			continue
		}
		on, err := strconv.ParseBool(v[0])
		if err != nil {
			return bad("tls=%s; write true or false", v[0])
		}
		if on {
			base = "https://"
		}
	}
	for h := range strings.SplitSeq(hosts, ",") {
		u.Nodes = append(u.Nodes, base+h)
	}
	return u, nil
}
