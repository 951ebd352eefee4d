package filter

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
)

const filterDocument = `{
	"lang": "go", "year": 2020, "draft": false, "gone": null, "rate": 0.1,
	"big": 9007199254740993, "huge": 1e400, "tiny": -1.50e-400, "zero": -0.0,
	"tags": ["a", "b", 3, ["deep"]], "path": "net/http/server.go",
	"author": {"name": "Ada", "born": {"year": 1815}}, "dotted.key": {"in.side": 1},
	"people": [{"name": "X", "age": 30}, {"name": "Y", "age": 50}],
	"none": [], "blank": {}, "empty": "", "": {"": 7}, "and": 1, "ünïcode": "é",
	"date": "2024-05-06", "words with space": true, "a-b": 1, "@type": "T"
}`

func parsedDocument(t testing.TB, raw string) map[string]any {
	m, err := metadata.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFilterMeaning(t *testing.T) {
	doc := parsedDocument(t, filterDocument)
	for expr, want := range map[string]bool{
		`lang = "go"`: true, `lang == 'go'`: true, `lang = "Go"`: false, `lang != "go"`: false,
		`lang != "c"`: true, `nowhere = "c"`: false, `nowhere != "c"`: true, `not nowhere = 1`: true,
		`year = 2020`: true, `year = 2.02e3`: true, `year = 2020.0`: true, `year = "2020"`: false,
		`year > "1"`: false, `year < "9"`: false, `year >= 2020`: true, `year > 2020`: false,
		`year < 2020.0000000000000000000000000001`: true, `year > 2019.99999999999999999999999`: true,
		`year between 2000 and 2020`: true, `year between 2020 and 2000`: false,
		`year not between 2000 and 2010`: true, `year BETWEEN 2020 AND 2020`: true,
		`big = 9007199254740993`: true, `big = 9007199254740992`: false, `big > 9007199254740992`: true,
		`big < 9007199254740994`: true, `huge > 1e399`: true, `huge = 10e399`: true, `huge < 1e401`: true,
		`tiny < 0`: true, `tiny = -15e-401`: true, `tiny > -1`: true, `tiny > -1.49e-400`: false,
		`zero = 0`: true, `zero >= 0`: true, `zero < 0`: false, `zero = 0e5`: true,
		`rate = 0.1`: true, `rate = 1e-1`: true, `rate = 0.10000000000000001`: false,
		`draft = false`: true, `draft = true`: false, `draft exists`: true, `not draft exists`: false,
		`draft not exists`: false, `gone = null`: true, `gone exists`: true, `gone != null`: false,
		`lang = null`: false, `nowhere = null`: false, `draft in [null, false]`: true,
		`tags = "a"`: true, `tags = "deep"`: true, `tags = 3`: true, `tags != "a"`: false,
		`tags in ["x", "b"]`: true, `tags in ["x"]`: false, `tags in []`: false, `tags not in []`: true,
		`tags not in ["x", "y"]`: true, `tags ^= "de"`: true,
		`lang in ["1","2","3","4","5","6","7","8","9","go"]`: true,
		`lang in ["1","2","3","4","5","6","7","8","9","10"]`: false,
		`year in [1,2,3,4,5,6,7,8,9,"2020"]`:                 false,
		`year in [1,2,3,4,5,6,7,8,9,202e1]`:                  true,
		`path ^= "net/"`:                                     true, `path ^= "et/"`: false, `path ^= ""`: true, `year ^= ""`: false,
		`author.name = "Ada"`: true, `author.born.year < 1900`: true, `author exists`: true,
		`author.born exists`: true, `author.bor exists`: false, `auth exists`: false, `author = "Ada"`: false,
		`dotted.key.in.side = 1`: true, `dotted.key exists`: true, `dotted exists`: false,
		`people.name = "Y"`: true, `people.name = "X" and people.age > 40`: true,
		`people.age between 31 and 49`: false, `people.age > 31 and people.age < 49`: true,
		`none exists`: true, `none = null`: false, `blank exists`: true, `empty exists`: true, `empty = ""`: true,
		`"" exists`: true, `"." = 7`: true, `"" = 7`: false, `"and" = 1`: true, `ünïcode = "\u00e9"`: true,
		`date >= "2024-01-01" and date < "2025"`: true, `date < "2024-05-06"`: false, `date <= "2024-05-06"`: true,
		`"words with space" = TRUE`: true, `a-b = 1`: true, `@type = "T"`: true,
		`true`: true, `FALSE`: false, `not true`: false, `not not true`: true,
		`lang = "c" or year = 2020 and draft = false`: true, `(lang = "c" or year = 2020) and draft = true`: false,
		`lang = "go" or year = 1 and draft = true`: true, `not lang = "c" and year = 2020`: true,
		`lang = "go" and (year >= 2020 or tags in ["a","b"]) and not draft exists and path ^= "net/"`: false,
	} {
		f, err := Parse(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		got, err := f.Match(doc)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", expr, got, err, want)
		}
		if got, err := metByFacts(f, []byte(filterDocument)); err != nil || got != want {
			t.Errorf("%s: %v, %v by facts; want %v", expr, got, err, want)
		}
		again, err := Parse(f.String())
		if err != nil || again.String() != f.String() {
			t.Errorf("%s: written as %s, read as %s, %v", expr, f, again, err)
		}
	}
}

// TestFieldsOfFiles: a field of a file's metadata is found by its plain name where the document has no field of that name.
func TestFieldsOfFiles(t *testing.T) {
	doc := parsedDocument(t, `{"kind": "invoice", "time": null, "_file": {"path": "a.csv", "root": "/r", "kind": "csv", "time": "2024-01-01T00:00:00Z", "line": 2, "own": "x", "lang": "go"}}`)
	for expr, want := range map[string]bool{
		`path = "a.csv"`: true, `_file.path = "a.csv"`: true, `root ^= "/"`: true, `line > 1`: true, `kind = "invoice"`: true, `kind = "csv"`: false, `_file.kind = "csv"`: true,
		`time = null`: true, `time exists`: true, `time > "2000-01-01"`: false, `_file.time > "2000-01-01"`: true, `line_end exists`: false, `own exists`: false,
		`_file.own = "x"`: true, `lang exists`: false, `_file exists`: true, `not path exists`: false, `path.root exists`: false,
	} {
		f, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Match(doc); err != nil || got != want {
			t.Errorf("%s: %v, %v", expr, got, err)
		}
	}
	if got, err := Eq("kind", "csv").Match(parsedDocument(t, `{"_file": {"kind": "csv"}}`)); err != nil || got {
		t.Errorf("an object of a user's: %v, %v", got, err)
	}
	for raw, want := range map[string]bool{
		`{"_file": "a.csv", "x": {"_file": {"path": "a.csv"}}}`: false, `{"_file": [{"path": "a.csv"}]}`: false, `{"_file": {}}`: false, `{"_file": {"path": null}}`: false, `{"_file": {"path": ["b", "a.csv"]}}`: true,
	} {
		if got, err := Eq("path", "a.csv").Match(parsedDocument(t, raw)); err != nil || got != want {
			t.Errorf("%s: %v, %v", raw, got, err)
		}
	}
}

func TestFilterOfGoValues(t *testing.T) {
	type name string
	doc := map[string]any{"i": int64(math.MaxInt64), "u": uint64(math.MaxUint64), "f": 0.1, "g": float32(0.1),
		"s": name("x"), "t": true, "odd": "a\ufffd\ufffdb", "list": []string{"p", "q"}}
	for _, f := range []Filter{
		Eq("i", int64(math.MaxInt64)), Eq("u", uint64(math.MaxUint64)), Lt("i", uint64(math.MaxUint64)),
		Eq("f", 0.1), Eq("g", float32(0.1)), Eq("f", json.Number("1e-1")), Eq("s", name("x")), Eq("t", true),
		Eq("odd", "a\ufffd\ufffdb"), In("list", 1, "q"), Exists("list"), Prefix("s", ""),
		Range("f", 0, 1), Ge("f", 0.1), Le("f", 0.1), Gt("f", 0.09), Not(Eq("i", math.MaxInt32)),
		And(), {}, And(Exists("i")), Or(Eq("i", 1), Exists("u")), Not(Or()), Not(In("i")),
	} {
		if ok, err := f.Match(doc); !ok || err != nil {
			t.Errorf("%v: %v, %v", f, ok, err)
		}
	}
	if !(Filter{}).IsZero() || !And().IsZero() || Or().IsZero() || Eq("a", math.NaN()).IsZero() {
		t.Error("IsZero holds for another filter than the zero one, or not for it")
	}
}

func TestFilterRefusesValues(t *testing.T) {
	deep := Exists("a")
	for range 2000 {
		deep = Not(deep)
	}
	wide := make([]Filter, maxConditions+1)
	for i := range wide {
		wide[i] = Eq("a", i)
	}
	for name, f := range map[string]Filter{
		"nan": Eq("a", math.NaN()), "inf": Lt("a", math.Inf(1)), "slice": Eq("a", []int{1}), "map": In("a", 1, map[string]any{}),
		"number": Eq("a", json.Number("0x10")), "nothing": Eq("a", json.Number("")), "bool order": Lt("a", true), "null order": Ge("a", nil),
		"mixed range": Range("a", 1, "b"), "exponent": Eq("a", json.Number("1e99999999999999999999")),
		"text": Eq("a", "b\xff"), "texts": In("a", "b", "\xc3"), "prefix": Prefix("a", "\x80"), "path": Exists("a\xff"),
		"deep": deep, "wide": Or(wide...), "inside": Not(And(Exists("a"), Eq("a", math.NaN()))),
	} {
		if !errors.Is(f.Err(), fault.ErrInvalid) {
			t.Errorf("%s: %v", name, f.Err())
		}
		if _, err := f.Match(nil); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: match: %v", name, err)
		}
		if f.IsZero() || f.String() != f.Err().Error() {
			t.Errorf("%s reads as %q", name, f)
		}
	}
	for _, v := range []any{math.NaN(), "b\xff"} {
		if _, err := Exists("a").Match(map[string]any{"a": v}); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("metadata with %q: %v", v, err)
		}
	}
}

// TestFilterErrorsPoint marks the character in question with ‸.
func TestFilterErrorsPoint(t *testing.T) {
	for marked, say := range map[string]string{
		`‸`: "empty", `   ‸`: "empty", `‸= 3`: "condition", `lang‸`: "the end", `lang ‸"go"`: `not "go"`,
		`lang = ‸go`: "quotes", `lang = ‸`: "value", `lang = ‸and`: "value", `lang = ‸(`: "value",
		`lang = ‸"go`: "closed", `lang = ‸'go"`: "closed", `lang = "a‸\qb"`: "escape", `a = "‸\ud800"`: "escape",
		`a = "‸\u12"`: "escape", `a = "x‸\`: "escape", `year > ‸true`: "order", `year <= ‸null`: "order", `path ^= ‸3`: "start",
		`a between 1 and ‸"x"`: "one kind", `a between 1 ‸or 2`: "and", `a between ‸true and 1`: "order",
		`a in ‸"x"`: "list", `a in ["x" ‸"y"]`: "comma", `a in ["x",‸]`: "value", `a in ["x"‸`: "character 6", `a in [‸`: "value",
		`(a = 1 ‸`: "character 1", `((a = 1) ‸b`: "not b", `a = 1‸)`: "without", `a = 1 ‸b = 2`: "and, or", `a = 1 ‸"b"`: "and, or",
		`a ‸& b`: "write and", `a = 1 ‸|| b = 1`: "write or", `‸!a = 1`: "write not", `a = 1 ‸# b`: "meaning", `a = ‸-x`: "JSON",
		`a = ‸01`: "JSON", `a = ‸1.`: "JSON", `a = ‸1.2.3`: "JSON", `a = ‸2024-05-06`: "JSON", `a = ‸12abc`: "JSON", `‸12 = a`: "field",
		`a not ‸= 1`: "after not", `a ‸and b exists`: "after a", `‸in = 1`: "quotes", `not ‸`: "condition", `a = 1 and ‸`: "condition",
		`a = 1 or ‸or`: "condition", `(‸)`: "condition", `日本 = ‸語`: "quotes", "a =\n ‸x": "quotes", `a = ‸1e9999999999999`: "range",
		`a exists ‸exists`: "and, or", `a ‸( 1`: "expected =", `a = 1 ‸, b`: "and, or", "a ‸\xff": "UTF-8", `a = "‸` + "\xc3" + `"`: "UTF-8",
	} {
		expr := strings.Replace(marked, "‸", "", 1)
		_, err := Parse(expr)
		var fe *Error
		if !errors.As(err, &fe) || !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", marked, err)
			continue
		}
		if want := strings.Index(marked, "‸"); fe.Offset != want || fe.Expr != expr || !strings.Contains(fe.Msg, say) {
			t.Errorf("%s: at %d, want %d:\n%v", marked, fe.Offset, want, err)
		}
	}
}

func TestFilterErrorShowsTheCharacter(t *testing.T) {
	_, err := Parse(`lang = go and year > 3`)
	want := "filter, character 8: expected a value after =, not the bare word go; put quotes around text\n" +
		"  lang = go and year > 3\n" +
		"         ^"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = Parse("日本\t= \u202ex" + strings.Repeat(" and a = 1", 20))
	want = "  日本 =  x" + strings.Repeat(" and a = 1", 3) + " and a =…\n" + "  \u3000\u3000   ^"
	if fe := (*Error)(nil); !errors.As(err, &fe) || fe.Caret() != want {
		t.Errorf("got\n%q\nwant\n%q", fe.Caret(), want)
	}
	_, err = Parse(strings.Repeat("a = 1 and ", 20) + "x ! 3")
	want = "  …= 1 and a = 1 and a = 1 and a = 1 and x ! 3\n" + strings.Repeat(" ", 3+40) + "^"
	if fe := (*Error)(nil); !errors.As(err, &fe) || fe.Caret() != want {
		t.Errorf("got\n%q\nwant\n%q", fe.Caret(), want)
	}
	for _, e := range []*Error{{}, {Expr: "abc", Offset: -4}, {Expr: "abc", Offset: 99}} {
		if e.Error() == "" {
			t.Error("no text")
		}
	}
}

func TestFilterBounds(t *testing.T) {
	long := `a = "` + strings.Repeat("x", maxLength) + `"`
	nest := func(n int) string { return strings.Repeat("(", n) + "a = 1" + strings.Repeat(")", n) }
	layers := func(n int) string { // each a level of And and one of Or
		return strings.Repeat("a = 1 and (b = 1 or ", n) + "c = 1" + strings.Repeat(")", n)
	}
	many := func(n int) string { return strings.Repeat("a = 1 or ", n-1) + "a = 1" }
	uuid := `"123e4567-e89b-12d3-a456-426614174000"`
	values := "a in [" + strings.Repeat(uuid+", ", 25_000) + uuid + "]"
	for name, c := range map[string]struct {
		expr string
		ok   bool
	}{
		"longest": {long[:maxLength-1] + `"`, true}, "too long": {long, false},
		"nested": {nest(maxDepth), true}, "nested too deep": {nest(maxDepth + 1), false}, "very deep": {nest(30_000), false},
		"not": {strings.Repeat("not ", maxDepth-1) + "a exists", true}, "not too deep": {strings.Repeat("not ", maxDepth) + "a exists", false},
		"layers": {layers(49), true}, "too many layers": {layers(50), false}, "very many nots": {strings.Repeat("not ", 16_000) + "true", false},
		"most": {many(maxConditions), true}, "too many": {many(maxConditions + 1), false}, "values": {values, true},
	} {
		f, err := Parse(c.expr)
		if c.ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if fe := (*Error)(nil); !c.ok && !errors.As(err, &fe) {
			t.Errorf("%s: %v", name, err)
		}
		if c.ok {
			if again, err := Parse(f.String()); err != nil || again.String() != f.String() {
				t.Errorf("%s does not read as it is written: %v", name, err)
			}
		}
	}
}

// TestTextOfAFilter: between processes a filter crosses whole, also one that no
// expression may be as long as.
func TestTextOfAFilter(t *testing.T) {
	ids := make([]any, 30_000)
	for i := range ids {
		ids[i] = strings.Repeat("x", i%40) + "\n\"'\\" + string(rune(0x80+i))
	}
	for name, f := range map[string]Filter{
		"zero": {}, "none": Or(), "long": And(In("id", ids...), Not(Range("n", 1e300, int64(9007199254740993)))),
		"words": Eq("and", nil), "nested": Or(And(Eq("a", true)), Not(Not(Prefix("b.c", "é")))),
	} {
		text, err := f.MarshalText()
		var again Filter
		if err == nil {
			err = again.UnmarshalText(text)
		}
		if err != nil || again.String() != f.String() || again.IsZero() != f.IsZero() {
			t.Errorf("%s: %v; %.100s", name, err, again)
		}
	}
	if _, err := Eq("a", struct{}{}).MarshalText(); err == nil {
		t.Error("an invalid filter was written")
	}
	var f Filter
	if err := f.UnmarshalText([]byte("a =")); err == nil {
		t.Error("half an expression was read")
	}
}
