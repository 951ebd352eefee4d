package provision

import "context"

// The npm source packs a published package into a tgz; no script of it runs.
var _ = registerSource("npm", func(ctx context.Context, s *session, t transfer) error {
	return s.fromClient(ctx, t, "npm", [][]string{{"npm"}}, []string{
		"pack", "--silent", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=15000",
		"--pack-destination", ".", t.pkg.Name + "@" + t.pkg.Version})
})
