package clientconf

import "strings"

// Netrc returns the Authorization header for a host from the user's .netrc, or "" if it
// has none: the entry of that machine, else the default one. NETRC names another file.
func (e Env) Netrc(host string) (string, error) {
	for _, path := range []string{e.Getenv("NETRC"), e.home(".netrc"), e.home("_netrc")} {
		b, err := read(path)
		if err != nil {
			return "", err
		}
		if b != nil {
			return netrc(b, host), nil
		}
	}
	return "", nil
}

// netrc looks up a host in the words of a file: machine NAME login NAME password WORD, or
// default for all others. A macro definition ends at an empty line.
func netrc(b []byte, host string) string {
	var words []string
	macro := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" {
			macro = false
		}
		if macro || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		for i, f := range fields {
			if f == "macdef" {
				fields, macro = fields[:i], true
				break
			}
		}
		words = append(words, fields...)
	}
	var login, password string
	matches, found := false, false
	for i := 0; i < len(words); i++ {
		word, next := words[i], ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch word {
		case "machine", "default":
			if found {
				return Basic(login, password)
			}
			matches = word == "default" || strings.EqualFold(next, host)
			if login, password = "", ""; word == "machine" {
				i++
			}
		case "login", "password", "account":
			i++
			if matches && word != "account" {
				if found = true; word == "login" {
					login = next
				} else {
					password = next
				}
			}
		}
	}
	if found {
		return Basic(login, password)
	}
	return ""
}
