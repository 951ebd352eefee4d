package files

import "regexp"

// dataURI finds the content of data: URIs that is longer than a word can be.
var dataURI = regexp.MustCompile(`(?i)\bdata:[a-z]+/[a-z0-9.+-]+(?:;[a-z0-9=._+-]+)*,[^\s"'()<>\[\]]{48,}`)

// withoutData removes data: URIs, such as pictures, since they have no words. Lines keep their numbers.
func withoutData(text string) string { return dataURI.ReplaceAllString(text, "") }
