package clientconf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testEnv is an environment of these variables and files; in both, ROOT and HOME
// stand for the folders of the system's and the user's files.
func testEnv(t *testing.T, system string, vars, files map[string]string) Env {
	t.Helper()
	t.Setenv("PATH", t.TempDir()) // no mvn
	root, home := t.TempDir(), t.TempDir()
	fill := strings.NewReplacer("ROOT", root, "HOME", home)
	for name, text := range files {
		path := filepath.FromSlash(fill.Replace(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Env{Home: home, OS: system, Root: root, Getenv: func(name string) string { return fill.Replace(vars[name]) }}
}

func addresses(rs []Registry) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.URL)
	}
	return out
}

func TestPython(t *testing.T) {
	for _, c := range []struct {
		name        string
		system      string
		vars, files map[string]string
		want        []string
		err         string
	}{
		{name: "nothing", system: "linux"},
		{name: "variable", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "https://a/simple"}, want: []string{"https://a/simple"}},
		{name: "variable before file", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "https://a/simple"},
			files: map[string]string{"ROOT/etc/pip.conf": "[global]\nindex-url = https://b/simple\n"}, want: []string{"https://a/simple"}},
		{name: "extra", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "https://a/", "PIP_EXTRA_INDEX_URL": "https://b/ https://c/"},
			want: []string{"https://a/", "https://b/", "https://c/"}},
		{name: "system's file", system: "linux", files: map[string]string{"ROOT/etc/pip.conf": "# comment\n[global]\nIndex_URL: https://b/simple"},
			want: []string{"https://b/simple"}},
		{name: "user's before system's", system: "linux", files: map[string]string{"ROOT/etc/pip.conf": "[global]\nindex-url=https://b/\n",
			"HOME/.config/pip/pip.conf": "[global]\nindex-url=https://c/\n"}, want: []string{"https://c/"}},
		{name: "user's old file", system: "linux", files: map[string]string{"HOME/.pip/pip.conf": "[global]\nindex-url=https://c/\n"}, want: []string{"https://c/"}},
		{name: "XDG_CONFIG_HOME", system: "linux", vars: map[string]string{"XDG_CONFIG_HOME": "ROOT/x"},
			files: map[string]string{"ROOT/x/pip/pip.conf": "[global]\nindex-url=https://x/\n", "HOME/.config/pip/pip.conf": "[global]\nindex-url=https://c/\n"}, want: []string{"https://x/"}},
		{name: "virtual environment", system: "linux", vars: map[string]string{"VIRTUAL_ENV": "ROOT/venv"},
			files: map[string]string{"ROOT/venv/pip.conf": "[global]\nindex-url=https://v/\n", "HOME/.config/pip/pip.conf": "[global]\nindex-url=https://c/\n"}, want: []string{"https://v/"}},
		{name: "PIP_CONFIG_FILE for the user's", system: "linux", vars: map[string]string{"PIP_CONFIG_FILE": "ROOT/own"},
			files: map[string]string{"ROOT/own": "[global]\nextra-index-url=https://o/\n", "HOME/.config/pip/pip.conf": "[global]\nindex-url=https://c/\n",
				"ROOT/etc/pip.conf": "[global]\nindex-url=https://b/\n"}, want: []string{"https://b/", "https://o/"}},
		{name: "no files", system: "linux", vars: map[string]string{"PIP_CONFIG_FILE": os.DevNull}, files: map[string]string{"ROOT/etc/pip.conf": "[global]\nindex-url=https://b/\n"}},
		{name: "several lines", system: "linux", files: map[string]string{"ROOT/etc/pip.conf": "[global]\nextra-index-url =\n    https://b/\n    # not this\n    https://c/\ntimeout = 5\n"},
			want: []string{"https://b/", "https://c/"}},
		{name: "section of the command", system: "linux", files: map[string]string{"ROOT/etc/pip.conf": "[install]\nindex-url=https://i/\n[download]\nindex-url=https://d/\n[global]\nindex-url=https://g/\n"},
			want: []string{"https://d/"}},
		{name: "no index", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "https://a/", "PIP_NO_INDEX": "1"}},
		{name: "Windows", system: "windows", vars: map[string]string{"APPDATA": "ROOT/appdata", "ProgramData": "ROOT/all"},
			files: map[string]string{"ROOT/appdata/pip/pip.ini": "[global]\r\nindex-url = https://w/\r\n", "ROOT/all/pip/pip.ini": "[global]\nextra-index-url=https://all/\n"},
			want:  []string{"https://w/", "https://all/"}},
		{name: "macOS", system: "darwin", files: map[string]string{"ROOT/Library/Application Support/pip/pip.conf": "[global]\nindex-url=https://m/\n",
			"HOME/Library/Application Support/pip/pip.conf": "[global]\nextra-index-url=https://n/\n"}, want: []string{"https://m/", "https://n/"}},
		{name: "uv's variables", system: "linux", vars: map[string]string{"UV_DEFAULT_INDEX": "corp=https://d/", "UV_INDEX": "x=https://x/ https://y/", "UV_EXTRA_INDEX_URL": "https://z/", "UV_INDEX_URL": "https://old/"},
			want: []string{"https://x/", "https://y/", "https://z/", "https://d/", "https://old/"}},
		{name: "uv's file", system: "linux", files: map[string]string{"HOME/.config/uv/uv.toml": "index-url = \"https://i/\"\nextra-index-url = [\"https://e/\"]\n[[index]]\nname='d'\nurl='https://d/'\ndefault=true\n[[index]]\nurl='https://x/'\n[[index]]\nurl='https://flat/'\nformat='flat'\n[pip]\nindex-url='https://p/'\n"},
			want: []string{"https://x/", "https://e/", "https://d/", "https://i/", "https://p/"}},
		{name: "uv's file not read", system: "linux", vars: map[string]string{"UV_NO_CONFIG": "1"}, files: map[string]string{"HOME/.config/uv/uv.toml": "index-url = \"https://i/\"\n"}},
		{name: "uv's own file", system: "linux", vars: map[string]string{"UV_CONFIG_FILE": "ROOT/my.toml"}, files: map[string]string{"ROOT/my.toml": "index-url = \"https://o/\"\n", "HOME/.config/uv/uv.toml": "index-url = \"https://i/\"\n"}, want: []string{"https://o/"}},
		{name: "of both, once", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "https://a/", "UV_INDEX_URL": "https://a/"}, want: []string{"https://a/"}},
		{name: "no address", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "https://user:s3cr3t@ho st/"}, err: "PIP_INDEX_URL"},
		{name: "a file", system: "linux", vars: map[string]string{"PIP_INDEX_URL": "file:///s3cr3t"}, err: "PIP_INDEX_URL"},
		{name: "no TOML", system: "linux", files: map[string]string{"HOME/.config/uv/uv.toml": "index-url = https://u:s3cr3t@h/"}, err: "uv.toml"},
		{name: "too large", system: "linux", files: map[string]string{"ROOT/etc/pip.conf": strings.Repeat("#\n", maxFile)}, err: "too large"},
		{name: "folder", system: "linux", files: map[string]string{"ROOT/etc/pip.conf/x": ""}, err: "regular"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := testEnv(t, c.system, c.vars, c.files).Python()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "s3cr3t") {
					t.Errorf("%v, want %q and no secret", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(addresses(p.Indexes), c.want) {
				t.Errorf("%v, %v, want %v", addresses(p.Indexes), err, c.want)
			}
		})
	}
}

// Folders of wheels count without an index, too; pages and relative ones do not.
func TestPythonFolders(t *testing.T) {
	e := testEnv(t, "linux", map[string]string{"PIP_NO_INDEX": "yes"}, map[string]string{"ROOT/etc/pip.conf": "[global]\nindex-url = https://b/\nfind-links =\n  ROOT/wheels\n  file://ROOT/more\n  https://page/\n  relative\n"})
	path := filepath.Join(e.Root, "etc", "pip.conf")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), "ROOT", e.Root)), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := e.Python()
	if want := []string{e.Root + "/wheels", e.Root + "/more"}; err != nil || len(p.Indexes) > 0 || !slices.Equal(p.Folders, want) {
		t.Errorf("%+v, %v, want %v", p, err, want)
	}
}

// Credentials are taken out of addresses; certificate and proxy are found.
func TestPythonCredentials(t *testing.T) {
	p, err := testEnv(t, "linux", map[string]string{"PIP_INDEX_URL": "https://me:p%40ss@a/simple?x=1", "PIP_PROXY": "http://proxy:1"},
		map[string]string{"ROOT/etc/pip.conf": "[global]\ncert = /ca.pem\n"}).Python()
	if err != nil || p.Indexes[0].URL != "https://a/simple?x=1" || p.Indexes[0].Authorization != Basic("me", "p@ss") || p.Cert != "/ca.pem" || p.Proxy != "http://proxy:1" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestMaven(t *testing.T) {
	settings := func(inner string) map[string]string {
		return map[string]string{"HOME/.m2/settings.xml": "<?xml version='1.0'?><settings xmlns='x'>" + inner + "</settings>"}
	}
	mirror := func(id, of, url string) string {
		return "<mirror><id>" + id + "</id><mirrorOf>" + of + "</mirrorOf><url>" + url + "</url></mirror>"
	}
	profile := func(id, url string) string {
		return "<profile><id>" + id + "</id><repositories><repository><id>r" + id + "</id><url>" + url + "</url></repository></repositories></profile>"
	}
	for _, c := range []struct {
		name        string
		vars, files map[string]string
		want        []string
		local, err  string
	}{
		{name: "nothing", local: "HOME/.m2/repository"},
		{name: "mirror of central", files: settings("<mirrors>" + mirror("m", "central", "https://m") + "</mirrors>"), want: []string{"https://m"}},
		{name: "mirror of all but central", files: settings("<mirrors>" + mirror("m", "*,!central", "https://m") + "</mirrors>")},
		{name: "first mirror", files: settings("<mirrors>" + mirror("m", "other", "https://m") + mirror("n", "external:*", "https://n") + mirror("o", "*", "https://o") + "</mirrors>"), want: []string{"https://n"}},
		{name: "active profile", files: settings("<profiles>" + profile("a", "https://a") + profile("b", "https://b") + "</profiles><activeProfiles><activeProfile>b</activeProfile></activeProfiles>"), want: []string{"https://b"}},
		{name: "profile behind a mirror", files: settings("<mirrors>" + mirror("m", "*", "https://m") + "</mirrors><profiles>" + profile("b", "https://b") + "</profiles><activeProfiles><activeProfile>b</activeProfile></activeProfiles>"), want: []string{"https://m"}},
		{name: "installation's", vars: map[string]string{"MAVEN_HOME": "ROOT/mvn"}, files: map[string]string{"ROOT/mvn/conf/settings.xml": "<settings><mirrors>" + mirror("m", "central", "https://i") + "</mirrors><localRepository>${user.home}/x</localRepository></settings>"}, want: []string{"https://i"}, local: "HOME/x"},
		{name: "damaged", files: map[string]string{"HOME/.m2/settings.xml": "<settings><password>s3cr3t<"}, err: "settings.xml"},
		{name: "encrypted", files: settings("<mirrors>" + mirror("m", "*", "https://m") + "</mirrors><servers><server><id>m</id><username>u</username><password>{s3cr3t}</password></server></servers>"), err: "encrypted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := testEnv(t, "linux", c.vars, c.files)
			m, err := e.Maven()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "s3cr3t") {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(addresses(m.Repositories), c.want) {
				t.Errorf("%v, %v, want %v", addresses(m.Repositories), err, c.want)
			}
			if c.local != "" && m.Local != filepath.FromSlash(strings.Replace(c.local, "HOME", e.Home, 1)) {
				t.Errorf("local repository %s", m.Local)
			}
		})
	}
}

func TestNetrc(t *testing.T) {
	file := "# a comment\nmachine a login x password 1\nmachine B\n  login y\n  password 2 account z\nmacdef init\nmachine c login no password no\n\nmachine d password 4\ndefault login anonymous password me\n"
	for host, want := range map[string]string{"a": Basic("x", "1"), "b": Basic("y", "2"), "c": Basic("anonymous", "me"), "d": Basic("", "4"), "machine": Basic("anonymous", "me")} {
		if got := netrc([]byte(file), host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	for _, text := range []string{"", "machine", "machine a", "machine a login", "login x", "macdef x"} {
		if got := netrc([]byte(text), "b"); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
	e := testEnv(t, "linux", map[string]string{"NETRC": "ROOT/mine"}, map[string]string{"ROOT/mine": "machine a login m password m", "HOME/.netrc": file})
	if h, err := e.Netrc("a"); err != nil || h != Basic("m", "m") {
		t.Errorf("NETRC: %q, %v", h, err)
	}
}

// Whatever stands in the files, reading them ends and says at most an error.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("[global]\nindex-url = https://a/\n  https://b/\n"))
	f.Add([]byte("machine a login b password c\nmacdef x\n\ndefault"))
	f.Add([]byte("[[index]]\nurl = 'https://a'\n"))
	f.Add([]byte("<settings><mirrors><mirror><mirrorOf>*</mirrorOf><url>https://a</url></mirror></mirrors></settings>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		home := t.TempDir()
		e := Env{Home: home, OS: "linux", Root: home, Getenv: func(string) string { return "" }}
		for _, name := range []string{".pip/pip.conf", ".config/uv/uv.toml", ".m2/settings.xml", ".netrc"} {
			path := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p, err := e.Python()
		for _, r := range p.Indexes {
			if err == nil && !strings.HasPrefix(r.URL, "http") {
				t.Errorf("index %q", r.URL)
			}
		}
		if _, err := e.Netrc("host"); err != nil {
			t.Error(err)
		}
		e.Maven()
	})
}
