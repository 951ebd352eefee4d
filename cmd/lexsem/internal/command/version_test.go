package command

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// A program tells its version whatever way it was built, and the commit where that is known.
func TestVersion(t *testing.T) {
	const commit = "75202d85f29975fa6c6df24ccf64e828a47b3c46"
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: commit}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
		json string
	}{
		"no build info":                  {nil, "lexsem 0.1.0 (go", `{"version":"0.1.0","go":`},
		"-buildvcs=false":                {built("(devel)"), "lexsem 0.1.0 (go", `{"version":"0.1.0","go":`},
		"a test":                         {built(""), "lexsem 0.1.0 (go", `{"version":"0.1.0","go":`},
		"a commit without a module":      {built("(devel)", revision), "lexsem 0.1.0 (commit 75202d85f299, go", `{"version":"0.1.0","commit":"` + commit + `","go":`},
		"a working tree without a tag":   {built("v0.0.0-20261128073016-75202d85f299+dirty", revision, modified), "lexsem 0.1.0 (commit 75202d85f299, modified, go", `{"version":"0.1.0","commit":"` + commit + `","modified":true,"go":`},
		"go install of a commit":         {built("v0.0.0-20261128073016-75202d85f299"), "lexsem 0.1.0 (commit 75202d85f299, go", `{"version":"0.1.0","commit":"75202d85f299","go":`},
		"go install of a release":        {built("v0.2.0"), "lexsem 0.2.0 (go", `{"version":"0.2.0","go":`},
		"a working tree after a release": {built("v0.2.1-0.20261128073016-75202d85f299", revision), "lexsem 0.2.1-0.20261128073016-75202d85f299 (commit 75202d85f299, go", `{"version":"0.2.1-0.20261128073016-75202d85f299",`},
	} {
		v := builtVersion(c.info)
		if got := v.String(); !strings.HasPrefix(got, c.want) || !strings.Contains(got, runtime.GOOS+"/"+runtime.GOARCH+", cgo o") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got, err := json.Marshal(v); err != nil || !strings.HasPrefix(string(got), c.json) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.json)
		}
	}
}

// What the linker says of a release comes before what the go command says.
func TestLinkedVersion(t *testing.T) {
	defer func(v, c string) { linkedVersion, linkedCommit = v, c }(linkedVersion, linkedCommit)
	linkedVersion, linkedCommit = "1.2.3", "0123"
	if got := versions().String(); !strings.HasPrefix(got, "lexsem 1.2.3 (commit 0123, go") {
		t.Error(got)
	}
}
