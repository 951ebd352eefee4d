package filter

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

// Limits of a boost.
const (
	maxBoosts     = 8       // terms
	maxBoostBytes = 4 << 10 // of the expression
	maxWeight     = 100
	defaultWeight = 0.2 // of a term that names none
)

// Boost is a term of a boost expression: a number from 0 to 1 from a metadata field, and its weight. A search
// multiplies a score s ≥ 0 by 1 + Σ Weight·Of, and divides a negative one by it. ParseBoosts makes it.
type Boost struct {
	Name   string // as it was written, without the weight
	Weight float64
	path   string
	age    bool    // recency, of instants; else of numbers
	half   float64 // the age in seconds, or the number, that gives 0.5
	now    float64
}

// ParseBoosts reads a boost expression, such as recency(time, 30d) + 0.5*field(stars, 100):
//
//	boosts   = [ "-" ] boost { ( "+" | "-" ) boost }
//	boost    = [ number "*" ] ( "recency" "(" path "," duration ")" | "field" "(" path "," number ")" )
//	duration = digits ( "s" | "m" | "h" | "d" | "w" | "M" | "y" )
//
// recency is 2^(−age/duration) of a timestamp: 1 for now and the future, 0.5 at the age of the duration. field is x/(x
// + number) for a number x above 0, else 0. It is 0.5 if x equals the number; true counts as 1. A document without such
// a value gets 0; of several values, the greatest counts. A number as a timestamp is seconds since 1970, or
// milliseconds. The weight is 0.2 unless it is written; negative weights must add up to more than −1. Paths are those
// of filters.
//
// Errors are *Error.
func ParseBoosts(expr string) ([]Boost, error) {
	p := boostParser{parser{expr: expr, of: "boost"}}
	var boosts []Boost
	least := 0.0
	if len(expr) > maxBoostBytes {
		return nil, p.errorf(len(front(expr, maxBoostBytes)), "an expression of %d bytes; use at most %d", len(expr), maxBoostBytes)
	}
	if at := notUTF8(expr); at >= 0 {
		return nil, p.errorf(at, "a byte that is not UTF-8; convert the expression")
	}
	for sign := 1.0; ; {
		if p.take('-') {
			sign = -sign
		}
		at := p.at
		b, err := p.boost()
		if err != nil {
			return nil, err
		}
		b.Weight *= sign
		if boosts = append(boosts, b); len(boosts) > maxBoosts {
			return nil, p.errorf(at, "more than %d boosts; leave some out", maxBoosts)
		}
		if least += min(b.Weight, 0); least <= -1 {
			return nil, p.errorf(at, "weights below 0 that add up to %v; use more than -1 together", least)
		}
		switch {
		case p.take('+'):
			sign = 1
		case p.take('-'):
			sign = -1
		case p.at == len(expr):
			return boosts, nil
		default:
			return nil, p.errorf(p.at, "expected +, - or the end")
		}
	}
}

// boostParser reads the parts that filters do not have: 30d, * and +.
type boostParser struct{ parser }

// blank skips white space.
func (p *boostParser) blank() { p.at = len(p.expr) - len(strings.TrimLeft(p.expr[p.at:], " \t\r\n")) }

// take skips white space, and c if it is next.
func (p *boostParser) take(c byte) bool {
	p.blank()
	if p.at < len(p.expr) && p.expr[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *boostParser) expect(c byte, what string) error {
	if !p.take(c) {
		return p.errorf(p.at, "expected %c %s", c, what)
	}
	return nil
}

// number reads a number above 0 in JSON's form, and returns its position.
func (p *boostParser) number() (x float64, at int, err error) {
	p.blank()
	at = p.at
	n := value.NumberLength(p.expr[at:])
	x, err = strconv.ParseFloat(p.expr[at:at+n], 64)
	if err != nil || !(x > 0) {
		return 0, at, p.errorf(at, "expected a number above 0, such as 100 or 0.5")
	}
	p.at += n
	return x, at, nil
}

func (p *boostParser) boost() (b Boost, err error) {
	b.Weight = defaultWeight
	p.blank()
	if p.at < len(p.expr) && '0' <= p.expr[p.at] && p.expr[p.at] <= '9' {
		at := 0
		if b.Weight, at, err = p.number(); err != nil {
			return b, err
		}
		if b.Weight > maxWeight {
			return b, p.errorf(at, "a weight of %v; use at most %d", b.Weight, maxWeight)
		}
		if err := p.expect('*', "between the weight and its boost"); err != nil {
			return b, err
		}
		p.blank()
	}
	from := p.at
	name := p.expr[from : from+lengthWith(p.expr[from:], '_')]
	if b.age = name == "recency"; !b.age && name != "field" {
		return b, p.errorf(from, "expected recency(FIELD, AGE) such as recency(time, 30d), or field(FIELD, NUMBER) such as field(stars, 100)")
	}
	p.at += len(name)
	if err := p.expect('(', "after "+name); err != nil {
		return b, err
	}
	if b.path, err = p.path(); err != nil {
		return b, err
	}
	half := "the age at which it counts half, such as 30d"
	if !b.age {
		half = "the number that counts half, such as 100"
	}
	if err := p.expect(',', "and "+half); err != nil {
		return b, err
	}
	x, at, err := p.number()
	if err != nil {
		return b, err
	}
	if b.half = x; b.age {
		seconds := 0.0
		if p.at < len(p.expr) {
			seconds = map[byte]float64{'s': 1, 'm': 60, 'h': 3600, 'd': day, 'w': 7 * day, 'M': 30 * day, 'y': 365 * day}[p.expr[p.at]]
		}
		if seconds == 0 {
			return b, p.errorf(at, "expected an age with its unit, one of s m h d w M y, such as 30d")
		}
		p.at++
		b.half = min(b.half*seconds, math.MaxFloat64)
		now := clock()
		b.now = float64(now.Unix()) + float64(now.Nanosecond())/1e9
	}
	if err := p.expect(')', "at the end of "+name); err != nil {
		return b, err
	}
	b.Name = p.expr[from:p.at]
	return b, nil
}

const day = float64(24 * time.Hour / time.Second)

// path reads a field of the metadata.
func (p *boostParser) path() (string, error) {
	p.blank()
	at := p.at
	if p.at == len(p.expr) {
		return "", p.errorf(at, "expected a field of the metadata")
	}
	field := ""
	if c := p.expr[at]; c == '"' || c == '\'' {
		if err := p.quoted(c); err != nil {
			return "", err
		}
		field = p.tok.text
	} else if r, _ := utf8.DecodeRuneInString(p.expr[at:]); startsWord(r) {
		n := wordLength(p.expr[at:])
		field, p.at = p.expr[at:at+n], at+n
	}
	if field == "" {
		return "", p.errorf(at, "expected a field of the metadata; put quotes around unusual ones")
	}
	path, err := PathOf(field)
	if err != nil {
		return "", p.errorf(at, "%s", strings.TrimPrefix(err.Error(), fault.ErrInvalid.Error()+": "))
	}
	return path, nil
}

// Path is the path in the metadata that the boost reads.
func (b Boost) Path() string { return b.path }

// Key is the same for two boosts if they give equal numbers for equal values.
func (b Boost) Key() string {
	if b.age {
		return "recency " + b.path
	}
	return "field " + b.path
}

// Number is the number that the boost reads from a value; for a timestamp, its seconds since 1970.
func (b Boost) Number(k value.Kind, text []byte) (x float64, ok bool) {
	if b.age {
		return k.Seconds(text)
	}
	return k.Number(text)
}

// At maps a number to a boost from 0 to 1; it never falls with the number.
func (b Boost) At(x float64) float64 {
	switch {
	case b.age:
		return math.Exp2(-max(0, b.now-x) / b.half)
	case !(x > 0):
		return 0
	case math.IsInf(x, 0):
		return 1
	}
	return 1 / (1 + b.half/x)
}

// Of returns the boost of a value.
func (b Boost) Of(k value.Kind, text []byte) float64 {
	x, ok := b.Number(k, text)
	if !ok {
		return 0
	}
	return b.At(x)
}

// Sort is an order of documents by a field of the metadata.
type Sort struct {
	Path string // in the metadata
	Desc bool   // the greatest first
}

// ParseSort reads an order: the path of a field, and asc or desc (asc without either). Errors are *Error.
func ParseSort(expr string) (s Sort, err error) {
	p := boostParser{parser{expr: expr, of: "sort"}}
	if at := notUTF8(expr); at >= 0 {
		return s, p.errorf(at, "a byte that is not UTF-8; convert the expression")
	}
	if s.Path, err = p.path(); err != nil {
		return s, err
	}
	p.blank()
	switch rest := strings.TrimSpace(p.expr[p.at:]); strings.ToLower(rest) {
	case "", "asc":
	case "desc":
		s.Desc = true
	default:
		return s, p.errorf(p.at, "expected asc, desc or the end")
	}
	return s, nil
}

// Compare orders two values, written by Kind.Order, as the sort does; "" stands for a missing value, and
// comes last.
func (s Sort) Compare(a, b string) int {
	switch {
	case a == "" || b == "":
		return cmp.Compare(len(b), len(a))
	case s.Desc:
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

// notUTF8 is the position of the first byte of s that is not UTF-8, or −1.
func notUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}
