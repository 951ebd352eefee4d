package provision

import (
	"context"
	"path/filepath"
)

// The download source fetches over HTTP without any client: an archive of
// the release page, or the single files of a model from the hub.
var _ = registerSource("download", func(ctx context.Context, s *session, t transfer) error {
	p := t.pkg
	if p.Archive != "" {
		f := File{Member: p.Archive, Name: p.Archive, Size: p.Size, SHA256: p.SHA256}
		archive := filepath.Join(t.tmp, p.Archive)
		if err := s.fetchFile(ctx, t, s.releases+"v"+p.Version+"/"+p.Archive, f, archive, 0, f.Size); err != nil {
			return err
		}
		return extract(ctx, archive, t)
	}
	var total, done int64
	for _, f := range p.Files {
		total += f.Size
	}
	for _, f := range p.Files {
		address := s.hub + p.Name + "/resolve/" + p.Version + "/" + f.Member
		if err := s.fetchFile(ctx, t, address, f, filepath.Join(t.dir, f.Name), done, total); err != nil {
			return err
		}
		done += f.Size
	}
	return nil
})
