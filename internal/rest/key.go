package rest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/lexsem/lexsem/internal/secret"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Key returns the key of calls, or "" if there is none: key itself, else the value of the variable env,
// else of the variable usual. hint is the remedy if it is missing or wrong; may says what the key is for.
// No error and no hint contains a key, even if a key was given as the name of its variable.
func Key(key, env, usual, may string) (_, hint string, err error) {
	switch {
	case key != "" && env != "":
		return "", "", errors.New("both Key and KeyEnv; give the key, or the name of its variable")
	case env != "" && !variableName.MatchString(env):
		return "", "", errors.New("KeyEnv is no name of a variable; a key itself is given as Key")
	}
	from, hint := "Key", "give a Key that may "+may
	if key == "" {
		name := cmp.Or(env, usual)
		from, hint = "the value of "+name, "set "+name+" to a key that may "+may
		var set bool
		if key, set = os.LookupEnv(name); !set && env != "" { // the name may be a key
			hint = "set the variable that KeyEnv names to a key that may " + may
		}
	}
	key = strings.TrimSpace(key)
	if !secret.Plain(key) {
		return "", "", fmt.Errorf("%s is no key: it holds a blank, a line break or a letter beyond ASCII", from)
	}
	return key, hint, nil
}
