// Package clientconf reads the user's configuration of package clients: which registries to ask, with
// which credentials, certificates and proxies. Start with [System], then [Env.Python] (pip, uv),
// [Env.Maven] or [Env.Netrc]. It runs no client and has no built-in registry.
package clientconf

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// maxFile bounds a configuration file.
const maxFile = 1 << 20

// Env is the environment in which configuration is looked up.
type Env struct {
	Getenv func(string) string
	Home   string // the user's folder, "" where there is none
	OS     string // as runtime.GOOS
	Root   string // before the absolute paths of the system's files; "" but in tests
}

// System is the environment of this process.
func System() Env {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return Env{Getenv: os.Getenv, Home: home, OS: runtime.GOOS}
}

// home is a path below the user's folder, or "" if the user has none.
func (e Env) home(parts ...string) string {
	if e.Home == "" {
		return ""
	}
	return filepath.Join(append([]string{e.Home}, parts...)...)
}

// system is an absolute path of the system's.
func (e Env) system(path string) string { return filepath.Join(e.Root, path) }

// below is a path below the folder that a variable names, or "" if it is unset.
func (e Env) below(variable string, parts ...string) string {
	dir := e.Getenv(variable)
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, parts...)...)
}

// read returns the content of a file, or nil if it does not exist.
func read(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	b, err := regular.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Registry is a place from which packages are fetched.
type Registry struct {
	URL           string // without credentials
	Authorization string // the header of that name, "" for none
}

// registry separates the credentials from an address.
func registry(address, where string) (Registry, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Registry{}, fmt.Errorf("%s names an index that is no http or https address; mend it", where)
	}
	var r Registry
	if u.User != nil {
		password, _ := u.User.Password()
		r.Authorization = Basic(u.User.Username(), password)
		u.User = nil
	}
	r.URL = u.String()
	return r, nil
}

// Basic is the Authorization header of a name and a password (RFC 7617).
func Basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}
