package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/lexsem/lexsem/internal/modelname"
)

var cmdVersion = command{
	name:     "version",
	summary:  "versions of the program, of Go and of what it was built with",
	about:    "`lexsem --version` prints the same.",
	examples: []string{"lexsem version", "lexsem version --json"},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print as JSON")
		return func(_ context.Context, a *app, _ []string) error {
			v := versions()
			if *asJSON {
				return json.NewEncoder(a.Stdout).Encode(v)
			}
			_, err := fmt.Fprintln(a.Stdout, v)
			return err
		}
	},
}

// versionInfo is the output of version --json.
type versionInfo struct {
	Version  string `json:"version"`            // of the module, or sourceVersion
	Commit   string `json:"commit,omitempty"`   // where it is known
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CGO      bool   `json:"cgo"` // whether ONNX Runtime can be used
}

// String is the output of version.
func (v versionInfo) String() string {
	commit := ""
	if v.Commit != "" {
		commit = "commit " + v.Commit[:min(len(v.Commit), 12)] + ", "
		if v.Modified {
			commit += "modified, "
		}
	}
	return fmt.Sprintf("lexsem %s (%s%s, %s, cgo %s)", v.Version, commit, v.Go, v.Platform, onOff(v.CGO))
}

// sourceVersion is the version of this source. It is used if neither the linker nor the
// go command has put a version into the program.
const sourceVersion = "0.1.0"

// linkedVersion and linkedCommit are set by the linker in releases, which are built
// without the repository: -ldflags "-X …". Otherwise build info has them, also after `go
// install …@latest`.
var linkedVersion, linkedCommit string

func versions() versionInfo {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	v := builtVersion(info)
	if linkedVersion != "" || linkedCommit != "" {
		v.Version, v.Commit, v.Modified = cmp.Or(linkedVersion, v.Version), linkedCommit, false
	}
	return v
}

// untagged matches the go command's version of a commit without an earlier tag. It ends
// with the commit.
var untagged = regexp.MustCompile(`^v0\.0\.0-\d{14}-([0-9a-f]{12})(\+.*)?$`)

// builtVersion is the version that the go command wrote into the program.
func builtVersion(info *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: sourceVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CGO: modelname.CGO}
	if info == nil {
		return v
	}
	if m := untagged.FindStringSubmatch(info.Main.Version); m != nil {
		v.Commit = m[1]
	} else if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = strings.TrimPrefix(m, "v")
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
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
