package command

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/rest"
)

var cmdHealth = command{
	name:    "health",
	args:    "[URL]",
	summary: "check that a server is ready: exit code 0 if it is",
	about: `
Asks /readyz of the server at URL. Without URL it asks the address in LEXSEM_ADDR on this machine, or
else 127.0.0.1:7700, by https if LEXSEM_TLS_CERT names its certificate. A server that does not answer within --timeout seconds is not ready. Use it as the
health check of a container that has no other HTTP client.`,
	examples: []string{"lexsem health", "lexsem health --timeout 1 http://search.example:7700"},
	declare: func(f *flags) action {
		seconds := f.int("timeout", 3, "`SECONDS`time to wait for an answer")
		return func(ctx context.Context, a *app, args []string) error {
			if len(args) > 1 {
				return usagef("health takes one URL, got %q", args)
			}
			if *seconds < 1 {
				return usagef("--timeout %d: use a positive number of seconds", *seconds)
			}
			url, client := serverURL(a.Getenv("LEXSEM_ADDR")), http.DefaultClient
			if len(args) == 1 {
				url = strings.TrimSuffix(args[0], "/")
			} else if cert := a.Getenv("LEXSEM_TLS_CERT"); cert != "" {
				url, client = "https"+strings.TrimPrefix(url, "http"), only(cert)
			}
			ctx, cancel := context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
			defer cancel()
			return askReady(ctx, a, client, url)
		}
	},
}

// serverURL is the URL at which a server that listens on addr can be reached from its own
// machine.
func serverURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://127.0.0.1:7700"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// only is a client of a server of this machine that has the certificate in a file, which is for other names than that of the
// loopback interface.
func only(file string) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // what follows verifies it
		VerifyConnection: func(s tls.ConnectionState) error {
			own, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			block, rest := pem.Decode(own)
			for block != nil && block.Type != "CERTIFICATE" { // such as the key
				block, rest = pem.Decode(rest)
			}
			if block == nil || !bytes.Equal(block.Bytes, s.PeerCertificates[0].Raw) {
				return fmt.Errorf("the server has another certificate than the first of %s (LEXSEM_TLS_CERT)", file)
			}
			return nil
		},
	}}}
}

func askReady(ctx context.Context, a *app, client *http.Client, url string) error {
	to, err := rest.CheckURL(url, "readyz")
	if err != nil {
		return hinted(usagef("%v", err), "write it as http://HOST:PORT")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no answer from the server: %w", err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)) // what it says more of an error
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s %s", url, res.Status, strings.TrimSpace(string(body)))
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is ready\n", url)
	return err
}
