package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// TestMail: which parts of a message are its text, and how they are decoded.
func TestMail(t *testing.T) {
	const head = "Subject: s\r\n"
	mixed := func(parts ...string) string {
		return head + "Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n--b\r\n" + strings.Join(parts, "\r\n--b\r\n") + "\r\n--b--\r\nepilogue"
	}
	var nested strings.Builder
	for i := range 30 {
		fmt.Fprintf(&nested, "Content-Type: multipart/mixed; boundary=b%02d\r\n\r\n--b%02d\r\n\r\ntext%d\r\n--b%02d\r\n", i, i, i, i)
	}
	var deepText string
	for i := range 20 {
		deepText += fmt.Sprintf("text%d\n\n", i)
	}
	deepText = strings.TrimSpace(deepText)
	for in, want := range map[string]struct{ text, warn string }{
		head + "\r\nplain é":            {"plain é", ""},
		head + "\r\ncaf\xe9 de la gare": {"café de la gare", ""},
		head + "Content-Type: text/plain; charset=koi8-r\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\xd0\xd2\xc9\xd7\xc5\xd4":                                                       {"привет", ""},
		head + "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: QUOTED-PRINTABLE\r\n\r\ncaf=C3=A9 long=\r\ner":                                               {"café longer", ""},
		head + "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: base64\r\n\r\n Y2Fm\r\n\t6Q== \r\n":                                                     {"café", ""},
		head + "Content-Type: text/plain; charset=x-none\r\n\r\nwords":                                                                                                             {"words", ""},
		head + "Content-Type: text/html\r\n\r\n<title>no</title><p>one<p>two":                                                                                                      {"one\n\ntwo", ""},
		mixed("Content-Type: multipart/alternative; boundary=c\r\n\r\n--c\r\nContent-Type: text/plain\r\n\r\na\r\n--c\r\nContent-Type: text/html\r\n\r\n<p>b\r\n--c--"):            {"a", ""},
		mixed("Content-Type: multipart/alternative; boundary=c\r\n\r\n--c\r\nContent-Type: text/plain\r\n\r\n \r\n--c\r\nContent-Type: text/html\r\n\r\n<p>b\r\n--c--"):            {"b", ""},
		mixed("Content-Type: multipart/alternative; boundary=c\r\n\r\n--c\r\nContent-Type: text/html\r\n\r\n<p>b\r\n--c\r\nContent-Type: text/plain\r\n\r\na\r\n--c--", "\r\nend"): {"a\n\nend", ""},
		mixed("Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nwithin", "Content-Type: image/png; name=p.png\r\n\r\n\x89PNG"):                                            {"inner\n\nwithin", ""},
		mixed("\r\nfirst", "Content-Transfer-Encoding: base64\r\n\r\nYWJj!!!ZGVm"):                                                                                                 {"first\n\nabcdef", ""},
		head + "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nfirst\r\n--b\r\nno header\r\n\r\nsecond":                                                               {"first", "it cannot be read to its end"},
		head + "no header\r\nFrom: a\r\n\r\ntext":    {"text", `a line among the headers is none and is left out: "no header"`},
		head + "Date: soon\r\n\r\ntext":              {"text", `the date "soon" cannot be read`},
		head + nested.String():                       {deepText, "it has more than 1000 parts, or more than 20 in one another"},
		head + "\r\n" + strings.Repeat("long ", 300): {strings.TrimSpace(strings.Repeat("long ", 300)[:1022]), "its text is longer than"},
	} {
		recs, warned := warnings(t, "a.eml", in, Options{ID: "x", MaxBytes: 1 << 10})
		if len(recs) != 1 || recs[0].Text != want.text || recs[0].Title != "s" || want.warn == "" && len(warned) > 0 || !strings.Contains(strings.Join(warned, "\n"), want.warn) {
			t.Errorf("%.200q: %d records, warned %q; want %.100q, %q", in, len(recs), warned, want.text, want.warn)
		}
	}
	in := "Subject: =?utf-8?q?caf=C3=A9?=\n and more\nTo: a@b.c,\n\td@e.f\nCc: =?x-none?q?x?=\nTo: g@h.i\nDate: Fri, 1 Mar 2024 10:00:00 +0100 (CET)\nContent-Disposition: attachment; filename*=utf-8''%C3%A4.txt\n\nx"
	recs, warned := warnings(t, "a.eml", in, Options{ID: "x"})
	if got := fmt.Sprint(recs[0].Title, recs[0].Metadata); got != "café and moremap[attachments:[ä.txt] cc:=?x-none?q?x?= date:2024-03-01T09:00:00Z to:a@b.c, d@e.f, g@h.i]" || len(warned) != 1 {
		t.Errorf("%s, warned %q", got, warned)
	}
	for in, is := range map[string]error{"": ErrNoText, "\n\nno headers": ErrMalformed, "Received: x\n\n ": ErrNoText} {
		if recs, _, err := filestest.ReadAll(t, "a.eml", in, Options{ID: "x"}); !errors.Is(err, is) {
			t.Errorf("%q: %v, %v; want %v", in, recs, err, is)
		}
	}
}

// TestMbox: where a message begins, and which lines it has.
func TestMbox(t *testing.T) {
	const from = "From a@b.c Fri Mar  1 10:00:00 2024\n"
	in := from + "Subject: one\nMessage-ID: <1@b.c>\n\nFrom here to 2024\n>From there\n>>From both\n\n" + from + "Subject: two\n\nbody\nFrom a@b.c Fri Mar  1 10:00:00 2024\n\n" +
		from + "Subject: three\nMessage-ID: <1@b.c>\n\n" + strings.Repeat("long line ", 20_000)
	recs, warned := warnings(t, "a.mbox", in, Options{ID: "m", KeepRepeated: true, MaxBytes: 16 << 10})
	var got []string
	for _, r := range recs {
		got = append(got, fmt.Sprintf("%s %s %d-%d %.40q", r.ID, r.Title, r.From, r.To, r.Text))
	}
	want := []string{`1@b.c one 1-8 "From here to 2024\nFrom there\n>From both"`, `m#2 two 9-14 "body\nFrom a@b.c Fri Mar  1 10:00:00 2024"`, `1@b.c~2 three 15-19 "long line long line long line long line "`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
	if all := strings.Join(warned, "\n"); !strings.Contains(all, "15: the message is longer than") || !strings.Contains(all, "its text is longer than") || !strings.Contains(all, `the id "1@b.c" was there before`) {
		t.Errorf("warned %q", warned)
	}
	if _, _, err := filestest.ReadAll(t, "a.mbox", "Subject: x\n\ny", Options{ID: "x"}); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	_, bad, err := filestest.ReadAll(t, "a.mbox", from+"\n\n"+from+"Subject: x\n\ny", Options{ID: "x"})
	if err != nil || len(bad) != 1 || !strings.HasPrefix(bad[0], "1: ") {
		t.Errorf("a message without headers: %q, %v", bad, err)
	}
}

// TestMailMark: a byte order mark before the first header is no part of its name.
func TestMailMark(t *testing.T) {
	recs, _, err := filestest.ReadAll(t, "a.eml", "\ufeffFrom: ann\r\nSubject: s\r\n\r\nx", Options{})
	if err != nil || recs[0].Metadata["from"] != "ann" || recs[0].Title != "s" {
		t.Errorf("%+v, %v", recs, err)
	}
}
