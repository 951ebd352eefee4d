package files

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Bounds of one message.
const (
	maxHeader     = 1 << 20 // bytes
	maxParts      = 1000
	maxPartsDepth = 20 // parts, one in the other
)

// readEML reads one message.
func readEML(s *File) error {
	rec, err := s.message(s, 1)
	if err != nil {
		return err
	}
	return s.One(rec)
}

// message reads a message that begins on a line of the file. It returns ErrNoText if the message is empty.
func (s *File) message(r io.Reader, line int) (Record, error) {
	in := bufio.NewReader(&cancelled{s.ctx, io.LimitReader(r, expansion*s.o.MaxBytes)})
	m := &message{o: &outline{s: s}, line: line}
	header, err := m.header(in)
	if err != nil {
		return Record{}, err
	}
	if len(header) == 0 {
		if _, err := in.Peek(1); err == io.EOF {
			return Record{}, ErrNoText
		}
		return Record{}, Errorf(ErrMalformed, "not a message: it does not begin with headers such as Subject")
	}
	rec := Record{}
	rec.Title = property(m.words(header.Get("Subject")))
	for _, name := range []string{"From", "To", "Cc"} {
		rec.say(strings.ToLower(name), m.words(strings.Join(header[name], ", ")))
	}
	rec.say("message_id", strings.Trim(header.Get("Message-Id"), "<> \t"))
	if d := header.Get("Date"); d != "" {
		if t, err := mail.ParseDate(d); err == nil {
			rec.say("date", t.UTC().Format(time.RFC3339))
		} else {
			s.Warn(line, "the date %q cannot be read and is left out", clip(d, 80))
		}
	}
	err = m.add(m.part(header, in, 0))
	if len(m.attached) > 0 {
		if rec.Metadata == nil {
			rec.Metadata = map[string]any{}
		}
		rec.Metadata["attachments"] = m.attached
	}
	if err := s.settle(m.o.empty() && rec.Title == "", err); err != nil {
		return Record{}, err
	}
	rec.Text, rec.Breaks = m.o.text.String(), m.o.breaks
	return rec, nil
}

// message holds what was read from one message.
type message struct {
	o        *outline
	line     int
	parts    int
	attached []any // names of parts that are no text
}

// header reads headers up to the empty line. Invalid lines are skipped with a warning.
func (m *message) header(in *bufio.Reader) (textproto.MIMEHeader, error) {
	h := textproto.MIMEHeader{}
	var name string
	size, odd := 0, 0
	for first := true; ; first = false {
		line, err := lineOfHeader(in)
		if err != nil && err != io.EOF {
			return nil, err
		}
		text := strings.TrimRight(line, "\r\n")
		if first {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if size += len(line); text == "" && (err == io.EOF || line != "") {
			break
		}
		key, value, colon := strings.Cut(text, ":")
		switch {
		case size > maxHeader:
			if odd++; odd == 1 {
				m.o.s.Warn(m.line, "headers longer than %s are left out", bytesText(maxHeader))
			}
		case (text[0] == ' ' || text[0] == '\t') && name != "":
			v := h[name]
			v[len(v)-1] += " " + strings.TrimSpace(text)
		case colon && key != "" && !strings.ContainsAny(key, " \t"):
			name = textproto.CanonicalMIMEHeaderKey(key)
			h[name] = append(h[name], strings.TrimSpace(value))
		case first && strings.HasPrefix(text, "From "): // of a mailbox
		default:
			if odd++; odd == 1 {
				m.o.s.Warn(m.line, "a line among the headers is none and is left out: %q", clip(strings.ToValidUTF8(text, "\ufffd"), 80))
			}
		}
		if err == io.EOF {
			break
		}
	}
	return h, nil
}

// lineOfHeader reads a line of at most maxHeader bytes, or a part of a longer one.
func lineOfHeader(in *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < maxHeader {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return string(line), err
		}
	}
	return string(line), nil
}

// words decodes a header.
func (m *message) words(s string) string {
	d := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	out, err := d.DecodeHeader(s)
	if err != nil {
		m.o.s.Warn(m.line, "a header is in an encoding that is not known: %q", clip(strings.ToValidUTF8(s, "\ufffd"), 80))
		out = s
	}
	return decodedText([]byte(out), "")
}

// decodedText is a text in UTF-8. name is that of its encoding, or "" if it has none.
func decodedText(raw []byte, name string) string {
	if e, _ := charset.Lookup(name); e != nil && !(strings.EqualFold(name, "us-ascii") || strings.EqualFold(name, "utf-8") || mislabelled(raw, name)) {
		if out, err := e.NewDecoder().Bytes(raw); err == nil {
			return string(out)
		}
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	if e, _, ok := legacy(raw[:min(len(raw), sampleBytes)]); ok {
		if out, err := e.NewDecoder().Bytes(raw); err == nil {
			return string(out)
		}
	}
	return strings.ToValidUTF8(string(raw), "\ufffd")
}

// piece is the text of a part.
type piece struct {
	name string // of an attachment, or the subject of a message within the message
	shown
	plain bool
}

// add adds the text of all parts.
func (m *message) add(pieces []piece, err error) error {
	for _, p := range pieces {
		if p.name != "" {
			m.o.apart = true
			m.o.para(p.name)
		}
		m.o.shown(p.shown)
	}
	return err
}

// part reads a part, and the parts inside it.
func (m *message) part(h textproto.MIMEHeader, body io.Reader, depth int) ([]piece, error) {
	if m.parts++; m.parts > maxParts || depth > maxPartsDepth {
		return nil, Errorf(ErrTooLarge, "it has more than %d parts, or more than %d in one another", maxParts, maxPartsDepth)
	}
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if media == "" || err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = "text/plain"
	}
	kind, sub, _ := strings.Cut(media, "/")
	if kind == "multipart" && params["boundary"] != "" {
		return m.multi(sub, multipart.NewReader(body, params["boundary"]), depth)
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, &base64Only{body})
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	name := m.fileName(h, params)
	switch {
	case media == "message/rfc822":
		in := bufio.NewReader(body)
		inner, err := m.header(in)
		if err != nil {
			return nil, m.damaged(err)
		}
		pieces, err := m.part(inner, in, depth+1)
		if subject := property(m.words(inner.Get("Subject"))); subject != "" {
			pieces = append([]piece{{name: subject}}, pieces...)
		}
		return pieces, err
	case kind != "text" && kind != "multipart", sub == "css", sub == "javascript": // and what a saved page looks like
		if name != "" {
			m.attached = append(m.attached, name)
		}
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(body, m.o.s.o.MaxBytes+1))
	if err != nil {
		err = m.damaged(err)
	}
	p := piece{name: name}
	if name != "" {
		m.attached = append(m.attached, name)
	}
	if sub == "html" {
		if c := params["charset"]; c != "" {
			raw = []byte(decodedText(raw, c))
		}
		var perr error
		p.shown, perr = m.o.s.pageText(raw)
		return []piece{p}, cmp.Or(err, perr)
	}
	p.text, p.plain = shownText(decodedText(raw, params["charset"])), true
	return []piece{p}, err
}

// multi reads the parts of a message. Of alternatives it takes the plain text.
func (m *message) multi(sub string, r *multipart.Reader, depth int) (out []piece, err error) {
	for {
		p, perr := r.NextRawPart()
		if perr == io.EOF {
			break
		}
		if perr != nil {
			err = cmp.Or(err, m.damaged(perr))
			break
		}
		pieces, perr := m.part(p.Header, p, depth+1)
		if sub == "alternative" && len(out) > 0 && (isPlain(out) || !isPlain(pieces) && blankPieces(pieces)) {
			pieces = nil
		} else if sub == "alternative" {
			out = nil
		}
		out = append(out, pieces...)
		if err = cmp.Or(err, perr); perr != nil && (m.o.s.ctx.Err() != nil || m.parts > maxParts) {
			break
		}
	}
	return out, err
}

func isPlain(pieces []piece) bool {
	return len(pieces) == 1 && pieces[0].plain && !blankPieces(pieces)
}

func blankPieces(pieces []piece) bool {
	for _, p := range pieces {
		if !blank(p.text) {
			return false
		}
	}
	return true
}

// damaged returns the error for a part.
func (m *message) damaged(err error) error {
	if m.o.s.ctx.Err() != nil {
		return err
	}
	return Errorf(ErrMalformed, "a part of the message is damaged: %w", err)
}

// fileName is the name of an attachment; it is "" for a text that is shown.
func (m *message) fileName(h textproto.MIMEHeader, params map[string]string) string {
	_, place, _ := mime.ParseMediaType(h.Get("Content-Disposition")) // without it there is no name
	name := place["filename"]
	name = cmp.Or(name, params["name"])
	if name = property(m.words(name)); name == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}

// base64Only passes on the characters of base64, and drops others, such as spaces.
type base64Only struct{ r io.Reader }

func (b *base64Only) Read(p []byte) (int, error) {
	for {
		n, err := b.r.Read(p)
		keep := p[:0]
		for _, c := range p[:n] {
			if c > ' ' && c < 0x7f && (bytes.IndexByte([]byte("+/="), c) >= 0 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z') {
				keep = append(keep, c)
			}
		}
		if len(keep) > 0 || err != nil || len(p) == 0 {
			return len(keep), err
		}
	}
}
