package files

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/place"
)

// maxOutput is the maximum size of the outputs of one notebook cell that become text of
// the document.
const maxOutput = 4 << 10

// notebookCell is a cell of Jupyter's format 4 or earlier.
type notebookCell struct {
	Type    string    `json:"cell_type"`
	Level   int       `json:"level"`
	Source  cellText  `json:"source"`
	Input   cellText  `json:"input"`
	Outputs []cellOut `json:"outputs"`
}

type cellOut struct {
	Text cellText `json:"text"`
	Data struct {
		Plain cellText `json:"text/plain"`
	} `json:"data"`
	Name  string `json:"ename"`
	Value string `json:"evalue"`
}

// cellText is a text, or an array of its lines.
type cellText string

// UnmarshalJSON implements json.Unmarshaler. What is no text is none. A name that is there twice has both texts.
func (c *cellText) UnmarshalJSON(b []byte) error {
	var lines []string
	var one string
	if json.Unmarshal(b, &one) != nil && json.Unmarshal(b, &lines) == nil {
		one = strings.Join(lines, "")
	}
	if *c != "" && one != "" {
		*c += "\n\n"
	}
	*c += cellText(one)
	return nil
}

// notebookAbout is the metadata of a notebook.
type notebookAbout struct {
	Title   string `json:"title"`
	Authors []struct {
		Name string `json:"name"`
	} `json:"authors"`
	Kernel struct {
		Language string `json:"language"`
	} `json:"kernelspec"`
	Language struct {
		Name string `json:"name"`
	} `json:"language_info"`
}

// readNotebook reads a Jupyter notebook: its cells in order, with the beginnings of their outputs.
func readNotebook(s *File) error {
	plain, err := s.decoded()
	if err != nil {
		return err
	}
	in := json.NewDecoder(&plainJSON{r: io.LimitReader(plain, expansion*s.o.MaxBytes)})
	in.UseNumber() // a number that is too large is no text either, and no error of the decoder
	n := &notebook{o: &outline{s: s}}
	err = n.object(in, true)
	if n.cut > 0 {
		s.Warn(0, "outputs longer than %d bytes were cut (%d cells)", maxOutput, n.cut)
	}
	if err == io.EOF && n.o.empty() {
		return ErrNoText
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = Errorf(ErrMalformed, "not a notebook of Jupyter, or damaged: %w", err)
	}
	return n.o.finish(n.rec, err)
}

type notebook struct {
	o   *outline
	rec Record
	cut int // cells
}

// object reads the fields of a notebook, or of a worksheet in formats before version 4, which has no worksheets.
func (n *notebook) object(in *json.Decoder, whole bool) error {
	if t, err := in.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return Errorf(ErrMalformed, "not a notebook of Jupyter, which is an object of JSON")
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		switch {
		case name == "cells":
			err = list(in, func() error { return n.cell(in) })
		case name == "worksheets" && whole:
			err = list(in, func() error { return n.object(in, false) })
		case name == "metadata":
			var about notebookAbout
			var raw json.RawMessage
			if err = in.Decode(&raw); err == nil {
				if e := json.Unmarshal(raw, &about); e != nil {
					n.o.s.Warn(0, "its metadata cannot be read: %v", e)
				}
				n.about(about)
			}
		default:
			var other json.RawMessage
			err = in.Decode(&other)
		}
		if err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// list calls each for each element of an array.
func list(in *json.Decoder, each func() error) error {
	t, err := in.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return Errorf(ErrMalformed, "not a notebook of Jupyter: its cells are no list")
	}
	for in.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = in.Token()
	return err
}

func (n *notebook) about(a notebookAbout) {
	if n.rec.Title == "" {
		n.rec.Title = property(a.Title)
	}
	var authors []string
	for _, x := range a.Authors[:min(len(a.Authors), 100)] {
		if p := property(x.Name); p != "" {
			authors = append(authors, p)
		}
	}
	n.rec.say("author", strings.Join(authors, ", "))
	n.rec.say("language", a.Language.Name)
	if a.Language.Name == "" {
		n.rec.say("language", a.Kernel.Language)
	}
}

func (n *notebook) cell(in *json.Decoder) error {
	if n.o.full {
		return errEnough
	}
	if err := n.o.s.ctx.Err(); err != nil {
		return err
	}
	var raw json.RawMessage
	if err := in.Decode(&raw); err != nil {
		return err
	}
	var c notebookCell
	if err := json.Unmarshal(raw, &c); err != nil {
		n.o.s.Warn(0, "a part of a cell cannot be read: %v", err)
	}
	if v, err := unmarshal(raw); err == nil && repeats(raw, v) {
		n.o.s.Warn(0, "a cell has a name twice; of its texts both are stored, else the later value; the file may be damaged")
	}
	source := string(c.Source + c.Input)
	switch c.Type {
	case "markdown":
		n.o.markdown(withoutData(source))
	case "heading":
		n.o.heading(max(c.Level, 1), source)
	default:
		n.o.para(source)
	}
	var out strings.Builder
	for _, x := range c.Outputs {
		text := string(x.Text + x.Data.Plain)
		if x.Name != "" {
			text = x.Name + ": " + x.Value
		}
		if text = strings.TrimSpace(text); text != "" && out.Len() <= maxOutput {
			out.WriteString(text + "\n")
		}
	}
	text := out.String()
	if len(text) > maxOutput {
		n.cut++
		at := maxOutput
		for !utf8.RuneStart(text[at]) {
			at--
		}
		text = text[:at] + "…"
	}
	n.o.para(text)
	return nil
}

// markdown adds a Markdown text, with breaks at its headings.
func (o *outline) markdown(text string) {
	at := 0
	for _, h := range place.Headings(text) {
		o.para(text[at:h.At])
		at = h.End
		if h.Level == 1 && o.empty() {
			o.heading(1, h.Text)
		} else {
			o.apart, o.level = true, h.Level
			o.para(text[h.At:h.End])
		}
	}
	o.para(text[at:])
}
