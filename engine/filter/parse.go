package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

// Parse reads a filter in the syntax of the command line:
//
//	lang = "go" and (year >= 2020 or tags in ["a", "b"]) and not draft exists
//
// The grammar; words may be in any case, and white space is optional between them:
//
//	filter     = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" filter ")" | "true" | "false" | condition
//	condition  = path ( "=" | "==" | "!=" ) value
//	           | path ( "<" | "<=" | ">" | ">=" ) ( number | string | time )
//	           | path "^=" string                           starts with
//	           | path [ "not" ] "in" "[" [ value { "," value } ] "]"
//	           | path [ "not" ] "between" value "and" value both included
//	           | path [ "not" ] "exists"
//	path       = word | string                               id is the document's id
//	value      = number | string | "true" | "false" | "null" | time
//	time       = "now" { ( "+" | "-" ) digits ( "s" | "m" | "h" | "d" | "w" | "M" | "y" ) }
//
// A word starts with a letter or one of _ @ $ and continues with letters, digits, _ @ $ -
// : and the dots of nested fields. Paths with other characters, or equal to a word of the
// grammar, must be quoted. Numbers are written as in JSON, strings in "…" or '…' with
// JSON's escapes and \'. a != 1 means not a = 1, so documents without a meet it. now is
// the time of Parse: now-7d is 7 days before, now-1M a month.
//
// Errors are *Error.
func Parse(expr string) (Filter, error) {
	if len(expr) > maxLength {
		return Filter{}, &Error{Expr: expr, Offset: len(front(expr, maxLength)), Msg: fmt.Sprintf("an expression of %d bytes; %d are the most", len(expr), maxLength)}
	}
	return parse(expr)
}

// parse is Parse for expressions of any length.
func parse(expr string) (Filter, error) {
	p := parser{expr: expr}
	f, err := p.parse()
	if err != nil {
		return Filter{}, err
	}
	return f, nil
}

// MarshalText writes f for UnmarshalText. Error: Err of an invalid filter.
func (f Filter) MarshalText() ([]byte, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	return []byte(f.String()), nil
}

// UnmarshalText is Parse without a limit on the length.
func (f *Filter) UnmarshalText(text []byte) (err error) {
	*f, err = parse(string(text))
	return err
}

// words are the words of the grammar; as paths they must be quoted.
var words = map[string]bool{"and": true, "or": true, "not": true, "in": true, "between": true,
	"exists": true, "true": true, "false": true, "null": true}

// signs are the signs of comparisons.
var signs = map[string]operation{"=": opEq, "==": opEq, "!=": opEq, "<": opLt, "<=": opLe, ">": opGt, ">=": opGe, "^=": opPrefix}

type parser struct {
	of    string // Error.Of
	expr  string
	at    int // where the next token is read
	tok   token
	depth int
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return &Error{Of: p.of, Expr: p.expr, Offset: at, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) parse() (Filter, error) {
	if at := notUTF8(p.expr); at >= 0 {
		return Filter{}, p.errorf(at, "a byte that is not UTF-8; convert the expression")
	}
	if err := p.next(); err != nil {
		return Filter{}, err
	}
	if p.tok.kind == tokenEnd {
		return Filter{}, p.errorf(p.tok.at, `an empty filter; write one such as lang = "go"`)
	}
	f, err := p.or()
	switch {
	case err != nil:
		return f, err
	case p.tok.is(")"):
		return f, p.errorf(p.tok.at, "a ) without its (; remove it")
	case p.tok.kind != tokenEnd:
		return f, p.errorf(p.tok.at, "expected and, or, or the end, not %v", p.tok)
	}
	return f, nil
}

func (p *parser) or() (Filter, error)  { return p.chain("or", p.and, Or) }
func (p *parser) and() (Filter, error) { return p.chain("and", p.not, And) }

// chain reads one or more operands separated by word.
func (p *parser) chain(word string, operand func() (Filter, error), make func(...Filter) Filter) (Filter, error) {
	at := p.tok.at
	var fs []Filter
	for {
		f, err := operand()
		if err != nil {
			return f, err
		}
		fs = append(fs, f)
		if !p.tok.is(word) {
			break
		}
		if err := p.next(); err != nil {
			return f, err
		}
	}
	return p.made(at, make(fs...))
}

// made returns a filter, or turns its error into one with a position in the expression.
func (p *parser) made(at int, f Filter) (Filter, error) {
	if f.err != nil {
		return f, p.errorf(at, "%s", strings.TrimPrefix(f.err.Error(), fault.ErrInvalid.Error()+": "))
	}
	return f, nil
}

func (p *parser) not() (Filter, error) {
	at := p.tok.at
	if !p.tok.is("not") && !p.tok.is("(") {
		return p.condition()
	}
	if p.depth++; p.depth > maxDepth {
		return Filter{}, p.errorf(at, "not and ( nest deeper than %d; make the filter simpler", maxDepth)
	}
	defer func() { p.depth-- }()
	open := p.tok.is("(")
	if err := p.next(); err != nil {
		return Filter{}, err
	}
	if !open {
		f, err := p.not()
		if err != nil {
			return f, err
		}
		return p.made(at, Not(f))
	}
	f, err := p.or()
	if err != nil {
		return f, err
	}
	if !p.tok.is(")") {
		return f, p.errorf(p.tok.at, "expected and, or, or the ) of the ( at character %d, not %v", p.column(at), p.tok)
	}
	return f, p.next()
}

// column is the number of the character at a byte, from 1.
func (p *parser) column(at int) int { return utf8.RuneCountInString(p.expr[:at]) + 1 }

// condition reads a condition, or true or false instead of one.
func (p *parser) condition() (Filter, error) {
	path := p.tok
	switch {
	case path.is("true"):
		return And(), p.next()
	case path.is("false"):
		return Or(), p.next()
	case path.kind == tokenWord && words[path.text], path.kind == tokenNumber:
		return Filter{}, p.errorf(path.at, "expected a condition, not %v; put quotes around a field of this name", path)
	case path.kind != tokenWord && path.kind != tokenString:
		return Filter{}, p.errorf(path.at, `expected a condition such as lang = "go", not %v`, path)
	}
	if err := p.next(); err != nil {
		return Filter{}, err
	}
	negate := p.tok.is("not")
	if negate {
		if err := p.next(); err != nil {
			return Filter{}, err
		}
	}
	f := Filter{path: path.text, leaves: 1}
	var err error
	switch sign := p.tok; {
	case sign.is("exists"):
		f.op, err = opExists, p.next()
	case sign.is("in"):
		f.op = opIn
		err = p.list(&f)
	case sign.is("between"):
		f.op = opRange
		if err = p.value(&f); err == nil {
			if !p.tok.is("and") {
				return f, p.errorf(p.tok.at, "expected and with the upper value of between, not %v", p.tok)
			}
			err = p.value(&f)
		}
	case negate:
		return f, p.errorf(sign.at, "expected in, between or exists after not, not %v", sign)
	case sign.kind == tokenSign && signs[sign.text] != opAll:
		f.op, negate = signs[sign.text], sign.text == "!="
		err = p.value(&f)
	default:
		return f, p.errorf(sign.at, "expected =, !=, <, <=, >, >=, ^=, in, between or exists after %v, not %v", path, sign)
	}
	if err == nil && negate {
		return p.made(path.at, Not(f))
	}
	return f, err
}

// value reads the value after the current token and adds it to f.
func (p *parser) value(f *Filter) error {
	before := p.tok
	if err := p.next(); err != nil {
		return err
	}
	var v scalar
	switch t := p.tok; {
	case t.kind == tokenString:
		v = scalar{value.String, t.text}
	case t.kind == tokenNumber:
		v = scalar{value.Number, t.text}
	case t.is("true"):
		v.kind = value.True
	case t.is("false"):
		v.kind = value.False
	case t.is("null"):
		v.kind = value.Null
	case t.kind == tokenWord && strings.HasPrefix(t.text, "now"):
		word := p.expr[t.at : t.at+lengthWith(p.expr[t.at:], '+')]
		stamp, ok := relative(word)
		if !ok {
			return p.errorf(t.at, "%s is no time; write one such as now, now-7d or now+12h, with the units s, m, h, d, w, M for months and y, or put quotes around text", fault.Clip(word))
		}
		v, p.at = scalar{value.String, stamp}, t.at+len(word)
	case t.kind == tokenWord && !words[t.text]:
		return p.errorf(t.at, "expected a value after %v, not the bare word %v; put quotes around text", before, t)
	default:
		return p.errorf(t.at, "expected a value after %v, not %v", before, t)
	}
	f.values = append(f.values, v)
	if why := f.check(len(f.values) - 1); why != "" {
		return p.errorf(p.tok.at, "%s", why)
	}
	return p.next()
}

// list reads the values of in, in brackets.
func (p *parser) list(f *Filter) error {
	if err := p.next(); err != nil {
		return err
	}
	open := p.tok
	if !open.is("[") {
		return p.errorf(open.at, `expected a list such as ["a", "b"] after in, not %v`, open)
	}
	if p.peek("]") {
		if err := p.next(); err != nil {
			return err
		}
		return p.next()
	}
	for {
		if err := p.value(f); err != nil {
			return err
		}
		switch {
		case p.tok.is("]"):
			return p.next()
		case !p.tok.is(","):
			return p.errorf(p.tok.at, "expected a comma or the ] of the [ at character %d, not %v", p.column(open.at), p.tok)
		}
	}
}
