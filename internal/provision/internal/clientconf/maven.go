package clientconf

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// central is Maven's id of its default registry. Its address is not known here, so it is
// used only if a mirror replaces it.
const central = "central"

// Maven is the configuration of mvn.
type Maven struct {
	Local        string     // folder of packages that are on this machine, "" where there is none
	Repositories []Registry // in the order in which they are asked
}

// mavenSettings holds the used parts of a settings.xml (maven.apache.org/settings.html).
type mavenSettings struct {
	Local   string `xml:"localRepository"`
	Mirrors []struct {
		ID  string `xml:"id"`
		URL string `xml:"url"`
		Of  string `xml:"mirrorOf"`
	} `xml:"mirrors>mirror"`
	Servers []struct {
		ID       string `xml:"id"`
		User     string `xml:"username"`
		Password string `xml:"password"`
	} `xml:"servers>server"`
	Profiles []struct {
		ID           string       `xml:"id"`
		Default      bool         `xml:"activation>activeByDefault"`
		Repositories []repository `xml:"repositories>repository"`
	} `xml:"profiles>profile"`
	Active []string `xml:"activeProfiles>activeProfile"`
}

type repository struct {
	ID  string `xml:"id"`
	URL string `xml:"url"`
}

// Maven reads the settings of the user, then those of the installation.
func (e Env) Maven() (Maven, error) {
	m := Maven{}
	var all mavenSettings
	where := map[string]string{} // of an address: its file
	for _, path := range []string{e.home(".m2", "settings.xml"), e.mavenHome()} {
		b, err := read(path)
		if err != nil {
			return m, err
		}
		if b == nil {
			continue
		}
		var s mavenSettings
		if err := xml.Unmarshal(b, &s); err != nil { // whose text may hold a password
			return m, fmt.Errorf("%s is no XML of Maven's settings; mend it", path)
		}
		all.Local = cmp.Or(all.Local, strings.TrimSpace(s.Local))
		all.Mirrors = append(all.Mirrors, s.Mirrors...)
		all.Servers = append(all.Servers, s.Servers...)
		all.Profiles = append(all.Profiles, s.Profiles...)
		all.Active = append(all.Active, s.Active...)
		for _, x := range s.Mirrors {
			where[x.URL] = path
		}
		for _, p := range s.Profiles {
			for _, r := range p.Repositories {
				where[r.URL] = path
			}
		}
	}
	m.Local = cmp.Or(e.expand(all.Local), e.home(".m2", "repository"))
	repositories := []repository{}
	for _, p := range all.Profiles {
		if slices.Contains(all.Active, p.ID) || p.Default {
			repositories = append(repositories, p.Repositories...)
		}
	}
	var seen []string
	for _, r := range append(repositories, repository{ID: central}) {
		for _, x := range all.Mirrors {
			if mirrors(x.Of, r.ID) {
				r = repository{x.ID, x.URL}
				break
			}
		}
		if r.URL == "" || slices.Contains(seen, r.URL) {
			continue // Maven's own, which is not known here
		}
		seen = append(seen, r.URL)
		reg, err := registry(e.expand(r.URL), where[r.URL])
		if err != nil {
			return m, err
		}
		for _, s := range all.Servers {
			if s.ID != r.ID {
				continue
			}
			password := e.expand(strings.TrimSpace(s.Password))
			if strings.HasPrefix(password, "{") {
				return m, errors.New("the password of server " + s.ID + " in Maven's settings is encrypted, which only mvn reads")
			}
			if s.User != "" {
				reg.Authorization = Basic(e.expand(strings.TrimSpace(s.User)), password)
			}
			break
		}
		m.Repositories = append(m.Repositories, reg)
	}
	return m, nil
}

// mavenHome is the settings file of the installation, or "" if there is none.
func (e Env) mavenHome() string {
	for _, variable := range []string{"MAVEN_HOME", "M2_HOME"} {
		if path := e.below(variable, "conf", "settings.xml"); path != "" {
			return path
		}
	}
	program, err := exec.LookPath("mvn")
	if err != nil || e.Root != "" {
		return ""
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(program), "..", "conf", "settings.xml")
}

// mirrors reports whether a mirror with the given list replaces a repository: the list
// has ids, * and external:* for all, and !ID for exceptions.
func mirrors(of, id string) bool {
	all := false
	for _, x := range strings.Split(of, ",") {
		switch x = strings.TrimSpace(x); x {
		case "!" + id:
			return false
		case id, "*", "external:*":
			all = true
		}
	}
	return all
}

var mavenVariable = regexp.MustCompile(`\$\{[^}]*\}`)

// expand replaces ${env.NAME} and ${user.home} by their values.
func (e Env) expand(s string) string {
	return mavenVariable.ReplaceAllStringFunc(s, func(v string) string {
		name := v[2 : len(v)-1]
		if name == "user.home" {
			return e.Home
		}
		if variable, ok := strings.CutPrefix(name, "env."); ok {
			return e.Getenv(variable)
		}
		return v
	})
}
