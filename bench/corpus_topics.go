package bench

import (
	"bytes"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Topics of TREC: each stands between <top> and </top>, with <num> Number: and <title>; or in XML as
// <topic number="…"> with <query>, other elements, or text alone. Elements may name a language, as those of CLEF:
// <EN-title>.
var (
	topicStart = regexp.MustCompile(`(?i)<top(?:ic)?[\s>]`)
	topicEnd   = regexp.MustCompile(`(?i)</top(?:ic)?>`)
	topicID    = regexp.MustCompile(`(?is)<num[^>]*>\s*(?:Number:)?\s*([^\s<]+)|<topic\s[^>]*(?:number|id)\s*=\s*["']([^"']+)["']`)
	topicText  = []*regexp.Regexp{
		regexp.MustCompile(`(?is)<(?:\w\w-)?title(?:\s[^>]*)?>\s*(?:Topic:)?([^<]*)`),
		regexp.MustCompile(`(?is)<query(?:\s[^>]*)?>([^<]*)`),
		regexp.MustCompile(`(?is)<(?:\w\w-)?desc(?:ription)?(?:\s[^>]*)?>\s*(?:Description:)?([^<]*)`),
		regexp.MustCompile(`(?is)<topic\s[^>]*>(.*)</topic>`),
	}
	topicTag = regexp.MustCompile(`<[^>]*>`)
)

// isTopics recognises files of topics by their names.
func isTopics(name string) bool {
	return slices.Contains([]string{".txt", ".xml", ".trec", ".topics"}, extension(name)) || strings.HasPrefix(strings.ToLower(filepath.Base(name)), "topics")
}

// eachTopic calls fn for every topic of a file. A file whose first line has no tag has a query a line instead: an id,
// a tab or colon, and the text. The text of a query is the topic's title, else its
// query, else its description. Numbers lose leading zeros, which TREC's judgements do not have. An
// error of fn is a problem of the line that ends the topic.
func eachTopic(name string, o ReadOptions, fn func(Query) error) error {
	limit := o.maxLine()
	var topic strings.Builder
	began := 0 // the line
	any, plain := false, false
	err := eachLine(name, o, func(line int, b []byte) error {
		if !any {
			any, plain = true, bytes.TrimSpace(b)[0] != '<'
		}
		if plain {
			id, text, ok := strings.Cut(string(b), "\t")
			if !ok {
				id, text, ok = strings.Cut(string(b), ":")
			}
			if id = strings.TrimSpace(id); !ok || id == "" {
				return fmt.Errorf("%w: no topic of TREC, which begins with <top>, and no id, tab and text", ErrBrokenLine)
			}
			if text = strings.TrimSpace(text); text == "" {
				return fmt.Errorf("%w: query %q has no text; give it one or drop it", errEmptyQuery, id)
			}
			return fn(Query{ID: id, Text: text})
		}
		for rest := b; ; { // several topics may stand on a line
			if began == 0 {
				at := topicStart.FindIndex(rest)
				if at == nil {
					return nil
				}
				began, rest = line, rest[at[0]:]
			}
			end := topicEnd.FindIndex(rest)
			if end == nil {
				topic.Write(rest)
				topic.WriteByte('\n')
				if topic.Len() > limit {
					topic.Reset()
					began = 0
					return fmt.Errorf("%w: a topic of more than %d bytes; end it with </top>", errLineTooLong, limit)
				}
				return nil
			}
			topic.Write(rest[:end[1]])
			rest = rest[end[1]:]
			text := topic.String()
			topic.Reset()
			began = 0
			q, err := parseTopic(text)
			if err == nil {
				err = fn(q)
			}
			if err != nil {
				return err
			}
		}
	})
	if err == nil && began > 0 {
		err = o.problem(name, began, fmt.Errorf("%w: a topic has no end; write </top> after it", ErrBrokenLine))
	}
	return err
}

func parseTopic(s string) (Query, error) {
	m := topicID.FindStringSubmatch(s)
	if m == nil {
		return Query{}, fmt.Errorf("%w: a topic without a number; write <num> Number: 301", ErrBrokenLine)
	}
	id := m[1] + m[2]
	if n := strings.TrimLeft(id, "0"); n != "" && strings.Trim(n, "0123456789") == "" {
		id = n
	}
	for _, field := range topicText {
		if m := field.FindStringSubmatch(s); m != nil {
			if text := strings.Join(strings.Fields(html.UnescapeString(topicTag.ReplaceAllString(m[1], " "))), " "); text != "" {
				return Query{ID: id, Text: text}, nil
			}
		}
	}
	return Query{}, fmt.Errorf("%w: query %q has no text; give the topic a <title>", errEmptyQuery, id)
}
