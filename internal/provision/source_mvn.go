package provision

import "context"

// The mvn source copies a jar through the user's local Maven repository.
var _ = registerSource("mvn", func(ctx context.Context, s *session, t transfer) error {
	return s.fromClient(ctx, t, "mvn", [][]string{{"mvn"}}, []string{
		"--quiet", "--batch-mode",
		"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
		"-Dartifact=" + t.pkg.Name + ":" + t.pkg.Version + ":jar",
		"-DoutputDirectory=."})
})
