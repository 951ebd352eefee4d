package text

import (
	"crypto/sha256"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
)

// language is what the analysis of one language adds to that of all.
type language struct {
	stem   func(*snowballstem.Env) bool
	elides bool
}

var languages = map[string]language{
	"none": {},
	"da":   {stem: danish.Stem},
	"de":   {stem: german.Stem},
	"en":   {stem: english.Stem},
	"es":   {stem: spanish.Stem},
	"fi":   {stem: finnish.Stem},
	"fr":   {stem: french.Stem, elides: true},
	"hu":   {stem: hungarian.Stem},
	"it":   {stem: italian.Stem, elides: true},
	"nl":   {stem: dutch.Stem},
	"no":   {stem: norwegian.Stem},
	"pt":   {stem: portuguese.Stem},
	"ru":   {stem: russian.Stem},
	"sv":   {stem: swedish.Stem},
}

// Languages lists the supported languages, ascending.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

//go:embed stopwords.txt
var stopLists string

// stopWords returns the function words of a language, lower-cased, with '
// for every apostrophe.
func stopWords(language string) map[string]struct{} {
	if language == "en" {
		return stop
	}
	return otherStops()[language]
}

// otherStops reads the lists of the other languages: a heading [xx], then the
// words; # begins a comment.
var otherStops = sync.OnceValue(func() map[string]map[string]struct{} {
	lists := map[string]map[string]struct{}{}
	var list map[string]struct{}
	for line := range strings.Lines(stopLists) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			list = map[string]struct{}{}
			lists[strings.Trim(line, "[]")] = list
		default:
			for _, w := range strings.Fields(line) {
				list[w] = struct{}{}
			}
		}
	}
	return lists
})

func stopDigest(stop map[string]struct{}) []byte {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(stop)), " ")))
	return sum[:]
}
