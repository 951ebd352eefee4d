package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// TestEdit: an entry is set, replaced and taken out in files of all layouts, and all else stays byte for byte.
func TestEdit(t *testing.T) {
	value := map[string]any{"command": "lexsem", "args": []string{"mcp", "--dir", `/a "b" <c>`}}
	for _, was := range []string{
		"", "{}", "{}\n", "{ }\n", `{"a":1}`, `{"a": 1, "servers": {"other": {"command": "x"}}, "z": [1, {"servers": {}}]}` + "\n",
		"{\n\t\"servers\": {\n\t\t\"other\": {\"args\": [\"lexsem\", \"}\"]}\n\t},\n\t\"n\": 12345678901234567890\n}\n",
		`{"servers":{"a":1,"b":2}}`,
	} {
		s := setting{path: []string{"servers", "lexsem"}, value: value}
		in, err := s.edit([]byte(was))
		if err != nil {
			t.Fatalf("%q: %v", was, err)
		}
		if again, err := s.edit(in); err != nil || string(again) != string(in) {
			t.Errorf("%q: twice %q, %v; once %q", was, again, err, in)
		}
		s.value = map[string]any{"command": "other"}
		if other, err := s.edit(in); err != nil || !strings.Contains(string(other), `"command": "other"`) || strings.Contains(string(other), "mcp") {
			t.Errorf("%q: %q, %v", was, other, err)
		}
		s.value = nil
		out, err := s.edit(in)
		if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(strings.Replace(was, "{ }", "{}", 1)) && !(was == "" && string(out) == "{}\n") {
			t.Errorf("%q comes back as %q, %v; with the entry it was %q", was, out, err, in)
		}
	}
	first := setting{path: []string{"servers", "a"}}
	if out, err := first.edit([]byte(`{"servers":{"a":1, "b":2}}`)); err != nil || string(out) != `{"servers":{"b":2}}` {
		t.Errorf("%q, %v", out, err)
	}
	for _, bad := range []string{"{", "[]", "null", "{} x", "// comment\n{}", `{"servers": 5}`, `{"servers": {}, "servers": {}}`} {
		s := setting{path: []string{"servers", "lexsem"}, value: value}
		if out, err := s.edit([]byte(bad)); err == nil {
			t.Errorf("%q is edited: %q", bad, out)
		}
	}
	for _, was := range []string{
		"", "model = \"x\"\n", "# comment\n[a]\nb = [\n  \"c\",\n]\n\n[[d]]\ne = 1\n", "[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.other.env]\nA = \"1\"\n",
	} {
		s := setting{path: []string{"mcp_servers", "lexsem"}, value: value, toml: true}
		in, err := s.edit([]byte(was))
		if err != nil || !strings.HasPrefix(string(in), was) {
			t.Fatalf("%q: %q, %v", was, in, err)
		}
		if again, err := s.edit(in); err != nil || string(again) != string(in) {
			t.Errorf("%q: twice %q, %v; once %q", was, again, err, in)
		}
		s.value = nil
		if out, err := s.edit(in); err != nil || string(out) != was {
			t.Errorf("%q comes back as %q, %v", was, out, err)
		}
	}
	for _, bad := range []string{"a = ", "mcp_servers = 5\n", "[mcp_servers]\nlexsem = {command = \"x\"}\n"} {
		s := setting{path: []string{"mcp_servers", "lexsem"}, value: value, toml: true}
		if out, err := s.edit([]byte(bad)); err == nil {
			t.Errorf("%q is edited: %q", bad, out)
		}
	}
}

// TestClientFiles: each client's file is, as a whole, what its documentation says: for Claude Code and Cursor an object
// "mcpServers" of command and args, for VS Code "servers" with a type besides, for opencode "mcp" with the command as one list,
// for Codex a table below "mcp_servers".
func TestClientFiles(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // where no lexsem is, such as that of the scripts
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	for client, c := range map[string]struct {
		file string
		is   func(args []any) object
	}{
		"claude": {".mcp.json", func(a []any) object {
			return object{"mcpServers": object{"lexsem": object{"command": a[0], "args": a[1:]}}}
		}},
		"cursor": {".cursor/mcp.json", func(a []any) object {
			return object{"mcpServers": object{"lexsem": object{"command": a[0], "args": a[1:]}}}
		}},
		"vscode": {".vscode/mcp.json", func(a []any) object {
			return object{"servers": object{"lexsem": object{"type": "stdio", "command": a[0], "args": a[1:]}}}
		}},
		"opencode": {"opencode.json", func(a []any) object {
			return object{"mcp": object{"lexsem": object{"type": "local", "command": a, "enabled": true}}}
		}},
		"codex": {".codex/config.toml", func(a []any) object {
			return object{"mcp_servers": object{"lexsem": object{"command": a[0], "args": a[1:]}}}
		}},
	} {
		dir := t.TempDir()
		if code := Run(t.Context(), Env{Args: []string{"mcp", "install", client, "--dir", dir, "--yes"}}); code != exitOK {
			t.Fatalf("%s: exit code %d", client, code)
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.file)))
		if err != nil {
			t.Fatal(err)
		}
		var got object
		if strings.HasSuffix(c.file, ".toml") {
			err = toml.Unmarshal(text, &got)
		} else {
			err = json.Unmarshal(text, &got)
		}
		if want := c.is([]any{self, "mcp", "--dir", dir}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", client, got, err, want)
		}
	}
}
