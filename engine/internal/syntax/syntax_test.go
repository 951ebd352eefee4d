package syntax

import (
	"strings"
	"testing"
)

// TestRead: what is an operator, what is not, and what is left of the text.
func TestRead(t *testing.T) {
	for in, want := range map[string]string{
		// operators: the clauses, then the text
		`jaguar -car`:                        `-car | jaguar`,
		`-car jaguar`:                        `-car | jaguar`,
		`"signing keys" rotate`:              `"signing keys" | "signing keys" rotate`,
		`“signing keys” rotate`:              `"signing keys" | “signing keys” rotate`,
		`rotate +keyctl`:                     `keyctl | rotate  keyctl`,
		`rotate -"old keys"`:                 `-"old keys" | rotate`,
		`config* file`:                       `config* | config  file`,
		`title:Network proxy`:                `title:Network | Network proxy`,
		`title:"ready queue"`:                `title:"ready queue" | "ready queue"`,
		`title:2024 report`:                  `title:2024 | 2024 report`,
		`-title:draft report`:                `-title:draft | report`,
		`+title:net* -test*`:                 `title:net* -test* | net`,
		`-backup`:                            `-backup |`,
		`"2024" accounts`:                    `2024 | "2024" accounts`,
		`see "keys", please`:                 `keys | see "keys", please`,
		`-foo, bar`:                          `-foo | bar`,
		`-ERR_CONN_RESET net`:                `-ERR_CONN_RESET | net`,
		`猫 -犬`:                               `-犬 | 猫`,
		`one two three four five six -seven`: `-seven | one two three four five six`,
		// text
		`a b c d e f seven -eight`:                         ``,
		`what was named "The Tesla" in his own honor then`: ``,
		`C++ and C*`:      ``,
		`5 -3 +1`:         ``,
		`who sang "One"?`: ``,
		`猫は犬より可愛いと言われている理由を詳しく説明してください。猫は犬より可愛いと言われている理由を詳しく説明してください。 "東京"`: ``,
		`ls -l -O2 --all`:   ``,
		`a - b + c`:         ``,
		`well-known e-mail`: ``,
		`strconv.ParseInt: parsing "abc": invalid syntax`: ``,
		`exec: "go build" not found`:                      ``,
		`say "hello`:                                      ``,
		`5" by 3" board`:                                  ``,
		`""`:                                              ``,
		`"..."`:                                           ``,
		`title: colon`:                                    ``,
		`**bold** SELECT * std::*`:                        ``,
		`- -- + "`:                                        ``,
		`subtitle:word http://x`:                          ``,
		"\xff-\xfe \"\xff\" -\xff":                        ``,
	} {
		q := Read(in)
		if len(q.Text) != len(in) {
			t.Errorf("%q: words moved: %q", in, q.Text)
		}
		got := ""
		for _, c := range q.Clauses {
			sign := ""
			if c.Not {
				sign = "-"
			}
			got += sign + c.String() + " "
		}
		if want == "" {
			if got != "" || q.Text != in {
				t.Errorf("%q: read as %s| %q, want plain text", in, got, q.Text)
			}
			continue
		}
		if got = strings.TrimSpace(got + "| " + strings.TrimSpace(q.Text)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestManyOperators: a text of nothing but operators is text.
func TestManyOperators(t *testing.T) {
	for n, want := range map[int]int{32: 32, 33: 0, 100_000: 0} {
		if q := Read(strings.Repeat("pre* ", n)); len(q.Clauses) != want {
			t.Errorf("%d operators: %d clauses, want %d", n, len(q.Clauses), want)
		}
	}
}

// FuzzRead: no text panics or moves a word, and clauses name parts of it.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`a -b "c d" title:e f* +g`, `“x” -"`, "-\xff", `title:"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := Read(s)
		if len(q.Text) != len(s) {
			t.Fatalf("%q became %q", s, q.Text)
		}
		for i := range len(s) {
			if q.Text[i] != s[i] && q.Text[i] != ' ' {
				t.Fatalf("%q became %q", s, q.Text)
			}
		}
		for _, c := range q.Clauses {
			if c.Text == "" || !strings.Contains(s, c.Text) {
				t.Fatalf("%q has the clause %+v", s, c)
			}
		}
	})
}
