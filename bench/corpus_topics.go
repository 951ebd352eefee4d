package bench

import (
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Topics of TREC: each stands between <top> and </top>, with <num> Number: and <title>; or in XML as
// <topic number="…"> with <query>.
var (
	topicStart = regexp.MustCompile(`(?i)<top(?:ic)?[\s>]`)
	topicEnd   = regexp.MustCompile(`(?i)</top(?:ic)?>`)
	topicID    = regexp.MustCompile(`(?is)<num>\s*(?:Number:)?\s*([^\s<]+)|<topic\s[^>]*number\s*=\s*["']([^"']+)["']`)
	topicText  = []*regexp.Regexp{
		regexp.MustCompile(`(?is)<title>\s*(?:Topic:)?([^<]*)`),
		regexp.MustCompile(`(?is)<query>([^<]*)`),
		regexp.MustCompile(`(?is)<desc>\s*(?:Description:)?([^<]*)`),
	}
)

// isTopics tells files of topics by their names.
func isTopics(name string) bool {
	return slices.Contains([]string{".txt", ".xml", ".trec", ".topics"}, extension(name)) || strings.HasPrefix(strings.ToLower(filepath.Base(name)), "topics")
}

// eachTopic calls fn for every topic of a file. The text of a query is the topic's title, else its
// query, else its description. Numbers lose leading zeros, which TREC's judgements do not have. An
// error of fn is a problem of the line that ends the topic.
func eachTopic(name string, o ReadOptions, fn func(Query) error) error {
	limit := o.maxLine()
	var topic strings.Builder
	began := 0 // the line
	err := eachLine(name, o, func(line int, b []byte) error {
		if began == 0 {
			if !topicStart.Match(b) {
				return nil
			}
			began = line
		}
		topic.Write(b)
		topic.WriteByte('\n')
		if topic.Len() > limit {
			topic.Reset()
			began = 0
			return fmt.Errorf("%w: a topic of more than %d bytes; end it with </top>", errLineTooLong, limit)
		}
		if !topicEnd.Match(b) {
			return nil
		}
		text := topic.String()
		topic.Reset()
		began = 0
		q, err := parseTopic(text)
		if err != nil {
			return err
		}
		return fn(q)
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
			if text := strings.Join(strings.Fields(html.UnescapeString(m[1])), " "); text != "" {
				return Query{ID: id, Text: text}, nil
			}
		}
	}
	return Query{}, fmt.Errorf("%w: query %q has no text; give the topic a <title>", errEmptyQuery, id)
}
