package provision

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// The library must have this version or a newer one: onnxruntime_go requests API 24, and
// a library offers every API up to its own minor version.
const (
	minLibraryMajor = 1
	minLibraryMinor = 24
)

// LibraryArtifact is the name of ONNX Runtime in the reports of this package.
const LibraryArtifact = "onnxruntime"

// libraryName is the file name of the library in the cache.
func libraryName(platform string) string {
	switch {
	case strings.HasPrefix(platform, "windows/"):
		return "onnxruntime.dll"
	case strings.HasPrefix(platform, "darwin/"):
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}

// libraryBuild is a file with the library for one platform.
type libraryBuild struct {
	tags   []string // pip's platform tags
	member string
	size   int64
	sha256 string
}

var (
	// Measured from the packages of each platform.
	pipLibraries = map[string]libraryBuild{
		"linux/amd64": {[]string{"manylinux_2_28_x86_64", "manylinux_2_27_x86_64"}, "libonnxruntime.so.1.27.0", 23658512,
			"b5c9d4f124d24707f514dad926dc181820807178855df1c528e3addb2dd0e6f7"},
		"linux/arm64": {[]string{"manylinux_2_28_aarch64", "manylinux_2_27_aarch64"}, "libonnxruntime.so.1.27.0", 20001880,
			"9275ef52956228686ae47b0219f67476a1148505084bdc5571e7bf1bf69b11f2"},
		"darwin/arm64": {[]string{"macosx_14_0_arm64"}, "libonnxruntime.1.27.0.dylib", 29651448,
			"3d832017d60a8a1e078f7051ea3601374453f5451ffe95b70db1131aa7d37e06"},
		"windows/amd64": {[]string{"win_amd64"}, "onnxruntime.dll", 17320760,
			"7b9ef55ecaa67ea48e7b0cbe06c926a2046510eef45bbddc35bb9b02f6de3f81"},
		"windows/arm64": {[]string{"win_arm64"}, "onnxruntime.dll", 17104224,
			"17db1cb527389a0b50ffcf34425543c70167b8d2dc64385d0fe7302f151baa89"},
	}
	mvnLibraries = map[string]libraryBuild{
		"linux/amd64": {nil, "linux-x64/libonnxruntime.so", 23023576,
			"5bd5bedf736fc501692435d0ec4f6e8b2bdf48cd30af8e6d00d61b3ddc9a7ab8"},
		"linux/arm64": {nil, "linux-aarch64/libonnxruntime.so", 19543040,
			"115ecb838e703d390262b8b4d07d5248e6693c67658d4c98c48f94905ab27af4"},
		"darwin/arm64": {nil, "osx-aarch64/libonnxruntime.dylib", 37277000,
			"01fd997fe9a5b4c1c3094071cbde8bcbaf4c13d970282051866d85c224e2a951"},
		"windows/amd64": {nil, "win-x64/onnxruntime.dll", 14898016,
			"f90a4fac5aad258915cb27f3a3c3a79e0fabf8fef4e7af93c47192b8b32d31e6"},
	}
	npmLibraries = map[string]libraryBuild{
		"linux/amd64": {nil, "linux/x64/libonnxruntime.so.1", 38023776,
			"d8aff4aa8abee8fb2abb2f2f2459ffc94461e781e41b9f7c072829dd0d470221"},
		"linux/arm64": {nil, "linux/arm64/libonnxruntime.so.1", 20001880,
			"c36bc200e7e6c093b8abb0b34590fbdd8c52fd3fb5e33795b9523ffdde2fce0f"},
		"darwin/arm64": {nil, "darwin/arm64/libonnxruntime.1.27.0.dylib", 38800984,
			"89f692a3a1a224e4ad0b796b0e7c0bd81113b0741bfe84211eceef14d05a9e59"},
		"windows/amd64": {nil, "win32/x64/onnxruntime.dll", 26011960,
			"273f9ef9cf755c6a0f342226a80448156c10ceb74db2ae8c8370dc98e75af0eb"},
		"windows/arm64": {nil, "win32/arm64/onnxruntime.dll", 26834232,
			"908ce63e73f375e90daabe24c52486b42392c19df3d63973a26f871cfeab5453"},
	}
	// These are the digests of whole archives of the release page. They were not
	// measured: at least three public projects pin the same digest for each.
	releaseLibraries = map[string]libraryBuild{
		"linux/amd64": {nil, "onnxruntime-linux-x64-1.27.0.tgz", 0,
			"547e40a48f1fe73e3f812d7c88a948612c23f896b91e4e2ee1e232d7b468246f"},
		"linux/arm64": {nil, "onnxruntime-linux-aarch64-1.27.0.tgz", 0,
			"3e4d83ac06924a32a07b6d7f91ce6f852876153fc0bbdf931bf517a140bfbe48"},
		"darwin/arm64": {nil, "onnxruntime-osx-arm64-1.27.0.tgz", 0,
			"545e81c58152353acb0d1e8bd6ce4b62f830c0961f5b3acfedc790ffd76e477a"},
		"windows/amd64": {nil, "onnxruntime-win-x64-1.27.0.zip", 0,
			"c5c81710938e68079ff1a192b04897faabe4b43830d48f39f27ecd4e16138bfc"},
		"windows/arm64": {nil, "onnxruntime-win-arm64-1.27.0.zip", 0,
			"a32f2650575b3c20df462e337519fd1cc4105356130d11dba9771c6f374d952f"},
	}
)

// libraryPackages returns the packages that carry the library for a platform.
func libraryPackages(platform string) []Package {
	name := libraryName(platform)
	var out []Package
	if b, ok := pipLibraries[platform]; ok {
		out = append(out, Package{Via: "pip", Name: "onnxruntime", Version: "1.27.0", Tags: b.tags,
			Files: []File{{Member: "onnxruntime/capi/" + b.member, Name: name, Size: b.size, SHA256: b.sha256}}})
	}
	if b, ok := mvnLibraries[platform]; ok {
		out = append(out, Package{Via: "mvn", Name: "com.microsoft.onnxruntime:onnxruntime", Version: "1.26.0",
			Files: []File{{Member: "ai/onnxruntime/native/" + b.member, Name: name, Size: b.size, SHA256: b.sha256}}})
	}
	if b, ok := npmLibraries[platform]; ok {
		out = append(out, Package{Via: "npm", Name: "onnxruntime-node", Version: "1.27.0",
			Files: []File{{Member: "package/bin/napi-v6/" + b.member, Name: name, Size: b.size, SHA256: b.sha256}}})
	}
	if b, ok := releaseLibraries[platform]; ok {
		root := strings.TrimSuffix(strings.TrimSuffix(b.member, ".tgz"), ".zip")
		out = append(out, Package{Via: "download", Name: "onnxruntime", Version: "1.27.0", Archive: b.member, SHA256: b.sha256,
			Files: []File{{Member: root + "/lib/" + releaseMember(platform), Name: name}}})
	}
	return out
}

// releaseMember is the library's file name in an archive of the release page; the name
// without a version is a link there.
func releaseMember(platform string) string {
	switch name := libraryName(platform); name {
	case "libonnxruntime.so":
		return "libonnxruntime.so.1.27.0"
	case "libonnxruntime.dylib":
		return "libonnxruntime.1.27.0.dylib"
	default:
		return name
	}
}

// ensureLibrary finds the library: the user's, else the cached one, else one installed on
// this machine, else a fetched one.
func (s *session) ensureLibrary(ctx context.Context, path string) (Provenance, error) {
	if path != "" {
		return userLibrary(path, s.platform)
	}
	a := artifact{
		name:     LibraryArtifact,
		dir:      filepath.Join(s.cache, LibraryArtifact, strings.ReplaceAll(s.platform, "/", "-")),
		main:     libraryName(s.platform),
		file:     true,
		packages: libraryPackages(s.platform),
		remedy: fmt.Sprintf("name a package index in PIP_INDEX_URL, or install pip, uv, mvn (Java) or npm, and try again; or install ONNX Runtime %d.%d or newer and name its library",
			minLibraryMajor, minLibraryMinor),
	}
	if r, err := s.cached(ctx, a); err == nil {
		return r.provenance(a, true), nil
	}
	p, reason := systemLibrary(s.platform)
	if reason == nil {
		return p, nil
	}
	p, err := s.obtain(ctx, a)
	return p, withAttempt(err, "system", reason)
}
