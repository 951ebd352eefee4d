package command

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Scripts that call completeCommand, one for each shell.
//
//go:embed completion
var completionScripts embed.FS

var cmdCompletion = command{
	name:    "completion",
	args:    "bash | zsh | fish | powershell",
	summary: "print a script that completes commands, flags and their values",
	about: `
The script asks the program itself, so it always knows the names of commands, flags, modes,
variants, formats and models, and where files and folders belong. It opens no database and no
network connection.

bash: save the script as ~/.local/share/bash-completion/completions/lexsem, or load it as below.
zsh: save it as _lexsem in a folder of $fpath. fish: save it as
~/.config/fish/completions/lexsem.fish. PowerShell: add "lexsem completion powershell | Out-String |
Invoke-Expression" to $PROFILE.`,
	examples: []string{
		"source <(lexsem completion bash)",
		"lexsem completion fish > ~/.config/fish/completions/lexsem.fish",
	},
	declare: func(*flags) action {
		return func(_ context.Context, a *app, args []string) error {
			if len(args) != 1 || !slices.Contains(shells(), args[0]) {
				return hinted(usagef("completion takes the name of a shell, got %q", args), "use one of "+strings.Join(shells(), ", "))
			}
			script, err := completionScripts.ReadFile("completion/lexsem." + args[0])
			if err != nil {
				return fmt.Errorf("script for %s: %w", args[0], err)
			}
			_, err = a.Stdout.Write(script)
			return err
		}
	},
}

// shells returns the shells that have a script.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }
