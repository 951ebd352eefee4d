package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/regular"
)

// mcpClient is an agent whose project file lists its servers.
type mcpClient struct {
	name, title string
	files       []string // below the folder: the first that is there, else the first
	path        []string // of the servers in it
	toml        bool
	entry       func(command []string) map[string]any
}

// plainServer is an entry of most clients.
func plainServer(command []string) map[string]any {
	return map[string]any{"command": command[0], "args": command[1:]}
}

var mcpClients = []mcpClient{
	{"claude", "Claude Code", []string{".mcp.json"}, []string{"mcpServers"}, false, plainServer},
	{"codex", "Codex, in a trusted folder", []string{".codex/config.toml"}, []string{"mcp_servers"}, true, plainServer},
	{"cursor", "Cursor", []string{".cursor/mcp.json"}, []string{"mcpServers"}, false, plainServer},
	{"opencode", "opencode", []string{"opencode.json", "opencode.jsonc"}, []string{"mcp"}, false, func(command []string) map[string]any {
		return map[string]any{"type": "local", "command": command, "enabled": true}
	}},
	{"vscode", "Visual Studio Code", []string{".vscode/mcp.json"}, []string{"servers"}, false, func(command []string) map[string]any {
		return map[string]any{"type": "stdio", "command": command[0], "args": command[1:]}
	}},
}

// mcpClientNames returns the clients that install supports.
func mcpClientNames() (names []string) {
	for _, c := range mcpClients {
		names = append(names, c.name)
	}
	return names
}

const installClients = "claude|codex|cursor|opencode|vscode"

var cmdMCPInstall = command{
	name:    "mcp install",
	args:    installClients,
	summary: "configure an agent to start `lexsem mcp`",
	about: `
Writes an entry "lexsem" into the project file of the client in --dir, so that the client starts
` + "`lexsem mcp`" + ` there: for the folder, or for the database that --db names. Without --yes it only shows the
entry. All else in the file stays as it is; a file that cannot be read is refused.

claude: .mcp.json. codex: .codex/config.toml, which Codex reads in trusted folders. cursor:
.cursor/mcp.json. opencode: opencode.json. vscode: .vscode/mcp.json.

--model goes into the entry, too.`,
	examples: []string{"lexsem mcp install claude --yes", "lexsem mcp install codex --dir ~/src/project"},
	declare:  func(f *flags) action { return declareInstall(f, true) },
}

var cmdMCPUninstall = command{
	name:    "mcp uninstall",
	args:    installClients,
	summary: "take the entry of `lexsem mcp install` out again",
	about: `
Takes the entry "lexsem" out of the project file of the client in --dir, and the file and its folder away if nothing
else is in them. Without --yes it only says so.`,
	examples: []string{"lexsem mcp uninstall claude --yes", "lexsem mcp uninstall codex --dir ~/src/project"},
	declare:  func(f *flags) action { return declareInstall(f, false) },
}

func declareInstall(f *flags, in bool) action {
	dir := f.str("dir", ".", "`DIR`folder of the project")
	yes := f.bool("yes", "write the file; without it, only show what would be written")
	return func(_ context.Context, a *app, args []string) error {
		if len(args) != 1 {
			return hinted(usagef("name one client"), "one of "+strings.Join(mcpClientNames(), ", "))
		}
		i := slices.IndexFunc(mcpClients, func(c mcpClient) bool { return c.name == args[0] })
		if i < 0 {
			return hinted(usagef("no client %q", args[0]), "use one of "+strings.Join(mcpClientNames(), ", ")+", or configure it by hand: `lexsem help mcp`")
		}
		return mcpClients[i].install(a, *dir, in, *yes)
	}
}

// install writes or removes the entry of a client.
func (c mcpClient) install(a *app, dir string, in, yes bool) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usagef("--dir %s: no folder; name one that is there", dir)
	}
	path := c.file(dir)
	if real, err := filepath.EvalSymlinks(path); err == nil { // a link stays one
		path = real
	}
	s := setting{path: append(slices.Clone(c.path), program), toml: c.toml}
	if in {
		command, err := serverCommand(a, dir)
		if err != nil {
			return err
		}
		s.value = c.entry(command)
	}
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	is, err := s.edit(was)
	if err != nil {
		return hinted(fmt.Errorf("%s cannot be edited: %w", path, err), "mend the file, or edit it by hand; `lexsem help mcp` shows an entry")
	}
	switch {
	case string(is) == string(was) || !in && len(was) == 0:
		fmt.Fprintf(a.Stdout, "%s: nothing to change\n", path)
		return nil
	case in:
		fmt.Fprintf(a.Stdout, "%s, for %s, gets:\n\n%s\n", path, c.title, s.shown())
	default:
		fmt.Fprintf(a.Stdout, "%s loses the entry %s\n", path, strings.Join(s.path, "."))
	}
	if !yes {
		fmt.Fprintln(a.Stdout, "nothing is written; --yes writes it")
		return nil
	}
	if rest := strings.TrimSpace(string(is)); !in && (rest == "" || rest == "{}") {
		if err := os.Remove(path); err != nil {
			return err
		}
		if above := filepath.Dir(path); filepath.Clean(above) != filepath.Clean(dir) {
			_ = os.Remove(above) // it stays if there is more in it
		}
		return nil
	}
	return writeConfig(path, is)
}

// file is the client's file in a folder.
func (c mcpClient) file(dir string) string {
	for _, name := range c.files {
		if path := filepath.Join(dir, filepath.FromSlash(name)); regular.Exists(path) {
			return path
		}
	}
	return filepath.Join(dir, filepath.FromSlash(c.files[0]))
}

// shown is the entry as the file has it.
func (s setting) shown() string {
	if s.toml {
		return string(tomlEntry(strings.Join(s.path, "."), s.value))
	}
	var value any = s.value
	for _, key := range slices.Backward(s.path) {
		value = map[string]any{key: value}
	}
	return string(indented(value, "")) + "\n"
}

// serverCommand is the command line that a client must start.
func serverCommand(a *app, dir string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if found, err := exec.LookPath(program); err == nil && sameFile(found, self) {
		self = program
	}
	line := []string{self, "mcp"}
	if a.db != "" {
		db, err := a.needDB()
		if err != nil {
			return nil, err
		}
		if db, err = filepath.Abs(db); err != nil {
			return nil, err
		}
		line = append(line, "--db", db)
	} else {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		line = append(line, "--dir", abs)
	}
	if a.model != "" {
		line = append(line, "--model", a.model)
	}
	return line, nil
}

// sameFile reports whether two paths name the same file.
func sameFile(a, b string) bool {
	x, e1 := os.Stat(a)
	y, e2 := os.Stat(b)
	return e1 == nil && e2 == nil && os.SameFile(x, y)
}

// writeConfig creates or replaces a configuration file and keeps its mode.
func writeConfig(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(text)
		return errors.Join(err, f.Chmod(mode))
	})
}
