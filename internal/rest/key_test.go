package rest

import (
	"strings"
	"testing"
)

// TestKey: where a key is from, and that none is shown, also where one was given for the name of a variable.
func TestKey(t *testing.T) {
	t.Setenv("A_NAME", "sk-one\n")
	t.Setenv("USUAL", "sk-usual")
	t.Setenv("TWO_LINES", "sk-\nsecret")
	for _, c := range []struct{ key, env, want, hint, err string }{
		{"sk-secret", "", "sk-secret", "give a Key that may x", ""},
		{" sk-secret\r\n", "", "sk-secret", "give a Key that may x", ""},
		{"", "A_NAME", "sk-one", "set A_NAME to a key that may x", ""},
		{"", "", "sk-usual", "set USUAL to a key that may x", ""},
		{"", "sk_secret", "", "set the variable that KeyEnv names to a key that may x", ""},
		{"", "sk-secret", "", "", "KeyEnv is no name"},
		{"sk-secret", "A_NAME", "", "", "both Key and KeyEnv"},
		{"sk-\nsecret", "", "", "", "Key is no key"},
		{"sk-sécret", "", "", "", "Key is no key"},
		{"", "TWO_LINES", "", "", "the value of TWO_LINES is no key"},
	} {
		key, hint, err := Key(c.key, c.env, "USUAL", "x")
		if key != c.want || hint != c.hint || (err == nil) != (c.err == "") {
			t.Errorf("%q, %q: %q, %q, %v", c.key, c.env, key, hint, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q, %q: %v", c.key, c.env, err)
		}
	}
}
