//go:build unix

package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// onlyClients makes PATH a folder that holds nothing but the given scripts,
// which themselves find everything.
func onlyClients(t *testing.T, scripts map[string]string) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range scripts {
		script = fmt.Sprintf("#!/bin/sh\nPATH='%s'\nexport PATH\n%s\n", os.Getenv("PATH"), script)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

// realClient is a script that calls the installed client of that name.
func realClient(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("NOT TESTED: fetching with %s alone; it is not on PATH: install it", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("exec '%s' \"$@\"", path)
}

const clientBody = "what the package carries"

func clientArtifact(s *session, via ...string) artifact {
	a := artifact{name: "thing", dir: filepath.Join(s.cache, "thing"), main: "out-b.txt"}
	for _, v := range via {
		a.packages = append(a.packages, Package{Via: v, Name: "pkg", Version: "1", Tags: []string{"tag"}, Files: []File{wanted("a/b.txt", clientBody)}})
	}
	return a
}

func TestClients(t *testing.T) {
	good := writeFile(t, "good.whl", makeZip(t, member{name: "a/b.txt", body: clientBody}))
	bad := writeFile(t, "bad.whl", makeZip(t, member{name: "a/b.txt", body: "something else entirely"}))
	tgz := writeFile(t, "good.tgz", makeTgz(t, member{name: "a/b.txt", body: clientBody}))
	told := filepath.Join(t.TempDir(), "told") // that it takes its time
	leave := func(path string) string { return fmt.Sprintf("cp '%s' .", path) }
	for _, c := range []struct {
		name    string
		scripts map[string]string
		via     []string
		route   string // of the success
		log     string
		text    string // of the error
	}{
		{"python3", map[string]string{"python3": `[ "$1 $2 $3" = "-m pip download" ] && ` + leave(good)}, []string{"pip"}, "pip", "", ""},
		{"pip alone", map[string]string{"pip": `[ "$1" = download ] && ` + leave(good)}, []string{"pip"}, "pip", "", ""},
		{"python3 without pip", map[string]string{"python3": "echo No module named pip >&2; exit 1", "pip3": leave(good)}, []string{"pip"}, "pip", "", ""},
		{"uv", map[string]string{"uv": `[ "$1 $2 $3 $4" = "tool run pip download" ] && ` + leave(good)}, []string{"pip"}, "pip", "", ""},
		{"mvn", map[string]string{"mvn": leave(good)}, []string{"mvn"}, "mvn", "", ""},
		{"npm", map[string]string{"npm": leave(tgz)}, []string{"npm"}, "npm", "", ""},
		{"second route", map[string]string{"pip": "echo no such package; exit 3", "mvn": leave(good)}, []string{"pip", "mvn"}, "mvn", "no such package", ""},
		{"wrong digest, then right", map[string]string{"pip": leave(bad), "npm": leave(tgz)}, []string{"pip", "npm"}, "npm", "SHA-256", ""},
		{"slow", map[string]string{"pip": fmt.Sprintf("n=0; while [ ! -e '%s' ] && [ $n -lt 400 ]; do n=$((n+1)); sleep 0.05; done; ", told) + leave(good)}, []string{"pip"}, "pip", "still fetching", ""},
		{"fails", map[string]string{"pip": "echo first; echo the reason >&2; exit 3"}, []string{"pip"}, "", "", "the reason"},
		{"leaves nothing", map[string]string{"pip": "true"}, []string{"pip"}, "", "", "left 0 archives"},
		{"leaves two", map[string]string{"pip": leave(good) + "; " + leave(bad)}, []string{"pip"}, "", "", "left 2 archives"},
		{"leaves nonsense", map[string]string{"pip": "echo nonsense > x.whl"}, []string{"pip"}, "", "", "unusable archive"},
		{"not there", nil, []string{"pip", "mvn", "npm"}, "", "", "not on PATH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onlyClients(t, c.scripts)
			s, l := testSession(t, "http://127.0.0.1:1")
			s.silence = 300 * time.Millisecond
			l.heard = func(line string) {
				if strings.Contains(line, "still fetching") {
					if err := os.WriteFile(told, nil, 0o600); err != nil {
						t.Error(err)
					}
				}
			}
			p, err := s.obtain(t.Context(), clientArtifact(s, c.via...))
			if c.route == "" {
				var m *MissingError
				if !errors.As(err, &m) || !strings.Contains(err.Error(), c.text) || !attempted(m, c.via) {
					t.Errorf("%v, want %q and attempts by %v", err, c.text, c.via)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Route != c.route || !strings.Contains(l.String(), c.log) {
				t.Errorf("route %s, want %s; log:\n%s", p.Route, c.route, l)
			}
		})
	}
}

// attempted reports whether all of these routes were tried.
func attempted(m *MissingError, routes []string) bool {
	for _, r := range routes {
		if !slices.ContainsFunc(m.Missing[0].Attempts, func(a Attempt) bool { return a.Route == r }) {
			return false
		}
	}
	return true
}

// A client that hangs is killed with its children, on cancel and when its
// time is up.
func TestClientKilled(t *testing.T) {
	for _, how := range []string{"cancel", "limit"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			begun, hold, mark := filepath.Join(dir, "begun"), filepath.Join(dir, "hold"), filepath.Join(dir, "child-lived-on")
			if err := os.WriteFile(hold, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			onlyClients(t, map[string]string{"pip": fmt.Sprintf("(touch '%s'; while [ -e '%s' ]; do sleep 0.05; done; touch '%s') & wait", begun, hold, mark)})
			defer os.Remove(hold)
			s, _ := testSession(t, "http://127.0.0.1:1")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if how == "limit" {
				s.limit = 200 * time.Millisecond
			} else {
				go func() {
					for _, err := os.Stat(begun); err != nil && ctx.Err() == nil; _, err = os.Stat(begun) {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			begin := time.Now()
			_, err := s.obtain(ctx, clientArtifact(s, "pip"))
			if how == "cancel" && !errors.Is(err, context.Canceled) || how == "limit" && !strings.Contains(fmt.Sprint(err), "gave up after") {
				t.Errorf("%v", err)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if err := os.Remove(hold); err != nil {
				t.Fatal(err)
			}
			time.Sleep(400 * time.Millisecond) // a child that lives looks eight times
			if _, err := os.Stat(mark); err == nil {
				t.Error("the client's child was not killed")
			}
		})
	}
}

// ensureWith calls Ensure in an empty cache with nothing but the given client
// on PATH and no library to be found on the machine.
func ensureWith(t *testing.T, client string) (Result, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED with -short: an empty cache is filled with one client alone, 100 MB; run without -short")
	}
	if os.Getenv("LEXSEM_OFFLINE") != "" {
		t.Skip("NOT TESTED: an empty cache is filled with one client alone; LEXSEM_OFFLINE forbids it: unset it")
	}
	scripts := map[string]string{}
	if client != "" {
		scripts[client] = realClient(t, client)
	}
	onlyClients(t, scripts)
	return Ensure(t.Context(), Request{CacheDir: t.TempDir(), Log: func(s string) { t.Log(s) }})
}

// With pip alone, everything comes by pip.
func TestPipAlone(t *testing.T) {
	r, err := ensureWith(t, "pip")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.From {
		if p.Route != "pip" && p.Route != RouteIndex && p.Route != "system" || p.Cached != (p.Route == "system") {
			t.Errorf("%+v", p)
		}
	}
	for _, path := range []string{r.Library, filepath.Join(r.ModelDir, fileONNX), filepath.Join(r.ModelDir, fileTokenizer)} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.ModelDir, fileSafetensors)); err == nil {
		t.Error("the safetensors stayed beside the model")
	}
}

// With nothing on PATH and the hosts of the direct downloads out of reach,
// the answer is quick and says what to install.
func TestNothingAtAll(t *testing.T) {
	onlyClients(t, nil)
	s, _ := testSession(t, "http://127.0.0.1:1")
	begin := time.Now()
	model, err := s.findModel("")
	if err != nil {
		t.Fatal(err)
	}
	_, libErr := s.ensureLibrary(t.Context(), "")
	_, modelErr := model(t.Context())
	err = joinMissing(libErr, modelErr)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	t.Log(err)
	for _, text := range []string{DefaultModel + " is missing", "cache:", "pip:", "mvn:", "download:", "index:", "remedy: name a package index in PIP_INDEX_URL, or install pip"} {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%q is not said", text)
		}
	}
}
