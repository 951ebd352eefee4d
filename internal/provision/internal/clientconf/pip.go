package clientconf

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Python is the configuration of pip and uv.
type Python struct {
	Indexes []Registry // in the order in which they are asked
	Folders []string   // of wheels on this machine: find-links
	Cert    string     // file of trusted certificates, "" for the system's
	Proxy   string     // "" for what the environment says
}

// Python reads variables and files of pip, then of uv. As in pip and uv, a variable
// overrides files. Later files of pip override earlier ones: those of the system, the
// user, the virtual environment, and the one that PIP_CONFIG_FILE names, which also
// replaces the user's.
func (e Env) Python() (Python, error) {
	pip, err := e.pip()
	if err != nil {
		return Python{}, err
	}
	uv, err := e.uv()
	if err != nil {
		return Python{}, err
	}
	for _, r := range uv {
		if !slices.ContainsFunc(pip.Indexes, func(p Registry) bool { return p.URL == r.URL }) {
			pip.Indexes = append(pip.Indexes, r)
		}
	}
	return pip, nil
}

func (e Env) pip() (Python, error) {
	values, err := e.pipFiles()
	if err != nil {
		return Python{}, err
	}
	for key, variable := range map[string]string{"index-url": "PIP_INDEX_URL", "extra-index-url": "PIP_EXTRA_INDEX_URL",
		"no-index": "PIP_NO_INDEX", "find-links": "PIP_FIND_LINKS", "cert": "PIP_CERT", "proxy": "PIP_PROXY"} {
		if v := e.Getenv(variable); v != "" {
			values[key] = setting{v, variable}
		}
	}
	p := Python{Cert: values["cert"].value, Proxy: values["proxy"].value}
	for _, place := range strings.Fields(values["find-links"].value) {
		place = strings.TrimPrefix(place, "file://")
		if filepath.IsAbs(place) { // not a page, nor relative to wherever pip was called
			p.Folders = append(p.Folders, place)
		}
	}
	switch strings.ToLower(values["no-index"].value) {
	case "1", "true", "yes", "on", "y", "t":
		return p, nil
	}
	for _, key := range []string{"index-url", "extra-index-url"} {
		for _, address := range strings.Fields(values[key].value) {
			r, err := registry(address, values[key].where)
			if err != nil {
				return p, err
			}
			p.Indexes = append(p.Indexes, r)
		}
	}
	return p, nil
}

// setting is a value and its source, a file or a variable.
type setting struct{ value, where string }

// pipFiles reads pip's configuration files.
func (e Env) pipFiles() (map[string]setting, error) {
	values := map[string]setting{}
	own := e.Getenv("PIP_CONFIG_FILE")
	if own == os.DevNull {
		return values, nil
	}
	name := "pip.conf"
	var files []string
	switch e.OS {
	case "windows":
		name = "pip.ini"
		files = append(files, e.below("ProgramData", "pip", name))
	case "darwin":
		files = append(files, e.system("/Library/Application Support/pip/"+name))
	default:
		for _, dir := range filepath.SplitList(cmp.Or(e.Getenv("XDG_CONFIG_DIRS"), e.system("/etc/xdg"))) {
			files = append(files, filepath.Join(dir, "pip", name))
		}
		files = append(files, e.system("/etc/"+name))
	}
	if b, err := read(own); err != nil {
		return nil, err
	} else if b == nil {
		switch e.OS {
		case "windows":
			files = append(files, e.home("pip", name), e.below("APPDATA", "pip", name))
		case "darwin":
			files = append(files, e.home(".pip", name), e.home(".config", "pip", name), e.home("Library", "Application Support", "pip", name))
		default:
			files = append(files, e.home(".pip", name), cmp.Or(e.below("XDG_CONFIG_HOME", "pip", name), e.home(".config", "pip", name)))
		}
	}
	for _, path := range append(files, e.below("VIRTUAL_ENV", name), own) {
		b, err := read(path)
		if err != nil {
			return nil, err
		}
		// Of the sections pip reads [global] and that of its command.
		sections := ini(b)
		for _, section := range []string{"global", "download"} {
			for key, value := range sections[section] {
				values[key] = setting{value, path}
			}
		}
	}
	return values, nil
}

// ini reads the format of Python's configparser: sections of keys with values, which may
// continue on indented lines. Other lines are skipped.
func ini(b []byte) map[string]map[string]string {
	out := map[string]map[string]string{}
	section, key := "", ""
	for line := range strings.Lines(string(b)) {
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if key != "" {
				out[section][key] += "\n" + text
			}
			continue
		}
		if text[0] == '[' {
			if end := strings.IndexByte(text, ']'); end > 0 {
				section, key = text[1:end], ""
			}
			continue
		}
		at := strings.IndexAny(text, "=:")
		if at < 1 {
			key = ""
			continue
		}
		key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text[:at])), "_", "-")
		key = strings.TrimPrefix(key, "--")
		if out[section] == nil {
			out[section] = map[string]string{}
		}
		out[section][key] = strings.TrimSpace(text[at+1:])
	}
	return out
}
