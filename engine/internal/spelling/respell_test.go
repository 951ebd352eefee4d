package spelling

import (
	"fmt"
	"strings"
	"testing"
)

// TestRespelled: documents that write the words of a query otherwise are found, and what no document has costs nothing.
func TestRespelled(t *testing.T) {
	for _, c := range []struct{ doc, query, want string }{
		{"O'Brien said so", "obrien", "o'brien:1"},
		{"O’Brien said so", "what OBrien said", "o'brien:1 [o:0.5] [brien:0.5] said:1"},
		{"the Obrien case", "O'Brien", "obrien:1"},
		{"Obrien and O'Brien", "obrien", "obrien:1 [o'brien:0.3]"},
		{"part AB-1234/X", "AB1234", "ab:0.5 1234:0.5"},
		{"part AB 1234", "ab1234 part", "ab:0.5 1234:0.5 part:1"},
		{"AB, part AB1234", "AB 1234", "ab:1 1234:1 [ab1234:1]"},
		{"part AB1234", "AB 1234", "ab1234:1"},
		{"part AB1234", "AB-1234/X", "[ab-1234/x:1] [ab-1234:0.33333334] ab1234:0.33333334 x:0.33333334"},
		{"of 12V", "12 V", "12v:1"},
		{"of 12 V", "12V", "12:0.5 v:0.5"},
		{"10GB or 10 GB", "10GB", "10gb:1 [10:0.05] [gb:0.05]"},
		{"10GB or 10 GB", "10 gb", "10:1 gb:1 [10gb:0.3]"},
		{"part two", "Part 2", "part:1 two:1"},
		{"part II and 2", "part two", "part:1 2:1 ii:1"},
		{"two", "room 2", "room:1 2:1"},
		{"nothing", "obrien AB1234 12 V part 2", "obrien:1 ab1234:1 12:1 v:1 part:1 2:1"},
		{"ab", "AB1234", "ab1234:1"},
		{"windows10 and windows", "windows 10", "window:1 10:1"},
	} {
		x := newCorpus(t, "en", c.doc)
		var got []string
		for _, term := range x.s.Respelled(x.x, c.query, x.a.Asked(nil, c.query)) {
			one := fmt.Sprint(term.Text, ":", term.Weight)
			if term.Beside {
				one = "[" + one + "]"
			}
			got = append(got, one)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %s, want %s", c.query, c.doc, strings.Join(got, " "), c.want)
		}
	}
}

func BenchmarkRespelled(b *testing.B) {
	x := newCorpus(b, "en", "who plays the part of the king in the opera", "part AB 1234")
	for _, q := range []string{"who sings the part of the king in this opera", "part AB1234 of the opera"} {
		terms := x.a.Asked(nil, q)
		b.Run(strings.ReplaceAll(q, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				x.s.Respelled(x.x, q, terms)
			}
		})
	}
}
