package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses requests with a host name that is not the server's: otherwise a page
// whose own name points to this machine (DNS rebinding) would count as the same origin. An IP address is no such name. Health
// checks tell nothing, and balancers send them by any name or none.
func (s *Server) checkHost(r *http.Request) error {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return nil
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if slices.Contains(s.o.Hosts, "*") || slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(strings.Trim(h, "[]"), host) }) {
		return nil
	}
	return refuse(http.StatusForbidden, "wrong_host", "the request is for the host %.100q, but this server accepts %s; use one of these names or an IP address, or allow this name when starting the server (--allow-hosts, Options.Hosts)", host, strings.Join(s.o.Hosts, ", "))
}

// crossOrigin answers preflight requests for pages of other origins, and refuses writes
// from pages that may not call the server. done reports that the request was answered.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) (done bool, err error) {
	origin := r.Header.Get("Origin")
	if origin != "" && slices.Contains(s.o.Origins, origin) {
		h := w.Header()
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", "Authorization, X-Api-Key, Content-Type, Content-Encoding")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return true, nil
		}
	}
	if err := s.origins.Check(r); err != nil {
		return false, refuse(http.StatusForbidden, "wrong_origin", "a page of another origin (%.100q) may not call this server; allow the origin when starting the server (--allow-origins, Options.Origins)", origin)
	}
	return false, nil
}
