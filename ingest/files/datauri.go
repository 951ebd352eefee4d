package files

import "regexp"

// dataURI finds the content of data: URIs that is longer than words are.
var dataURI = regexp.MustCompile(`(?i)\bdata:[a-z]+/[a-z0-9.+-]+(?:;[a-z0-9=._+-]+)*,[^\s"'()<>\[\]]{48,}`)

// withoutData takes out data: URIs, such as pictures, which are no one's words. Lines stay where they are.
func withoutData(text string) string { return dataURI.ReplaceAllString(text, "") }
