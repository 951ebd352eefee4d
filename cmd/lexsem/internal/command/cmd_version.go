package command

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/lexsem/lexsem/encoder/models"
)

var cmdVersion = command{
	name:     "version",
	summary:  "versions of the program, of Go and of what it was built with",
	examples: []string{"lexsem version", "lexsem version --json"},
	declare: func(f *flags) action {
		f.group("Flags")
		asJSON := f.bool("json", "print as JSON")
		return func(_ context.Context, a *app, args []string) error {
			if len(args) > 0 {
				return usagef("version takes no arguments, got %q", args[0])
			}
			v := versions()
			if *asJSON {
				return json.NewEncoder(a.Stdout).Encode(v)
			}
			_, err := fmt.Fprintf(a.Stdout, "lexsem %s (%s, %s, cgo %s)\n", v.Version, v.Go, v.Platform, onOff(v.CGO))
			return err
		}
	},
}

// versionInfo is what version --json prints.
type versionInfo struct {
	Version  string `json:"version"` // of the module, "devel" when built from a working tree
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CGO      bool   `json:"cgo"` // whether ONNX Runtime can be used
}

// linkedVersion and linkedCommit are set by the linker in releases, which are built
// without the repository: -ldflags "-X …". Else build info tells, also what
// `go install …@latest` has fetched.
var linkedVersion, linkedCommit string

func versions() versionInfo {
	v := builtVersion()
	if linkedVersion != "" {
		v.Version, v.Commit = linkedVersion, linkedCommit
	}
	return v
}

// builtVersion is what the go command wrote into the program.
func builtVersion() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CGO: models.CGO}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := strings.TrimPrefix(info.Main.Version, "v"); m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
