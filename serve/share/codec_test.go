package share

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/store"
)

// fill gives every exported field below v a value that no other has and that is not zero.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(*n) + 1./3))
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d \xff\x00", *n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		switch v.Addr().Interface().(type) {
		case *engine.Filter:
			v.Set(reflect.ValueOf(filter.Eq(fmt.Sprint("field ", *n), *n)))
			return
		case *time.Time:
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]int64]() {
			v.Set(reflect.ValueOf(map[string]int64{"a": int64(*n)}))
			return
		}
		v.Set(reflect.ValueOf(map[string]any{"a": fmt.Sprint(*n), "b": []any{true, nil, "é"}}))
	case reflect.Pointer: // to the own type: the value it leads to has none
		p := reflect.New(v.Type().Elem())
		for i := range p.Elem().NumField() {
			if p.Elem().Field(i).Kind() != reflect.Pointer {
				fill(p.Elem().Field(i), n)
			}
		}
		v.Set(p)
	case reflect.Func, reflect.Interface:
	default:
		panic(v.Type().String())
	}
}

func filled[T any]() T {
	var v T
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n)
	return v
}

// over is v after it has crossed as a W.
func over[W any](t *testing.T, w W) W {
	t.Helper()
	raw, err := encoding.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decode[W](raw)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v\nwant %+v", what, got, want)
	}
}

// TestEveryFieldCrosses: every field of what calls take and return crosses.
func TestEveryFieldCrosses(t *testing.T) {
	for name, c := range calls {
		t.Run(name, func(t *testing.T) { c.(interface{ crosses(*testing.T) }).crosses(t) })
	}
	check(t, "progress", over(t, filled[engine.Progress]()), filled[engine.Progress]())
}

func (c *call[A, WA, R, WR]) crosses(t *testing.T) {
	if _, isPath := any(c).(*call[string, string, archive.BackupReport, archive.BackupReport]); !isPath { // the path becomes absolute
		crosses(t, "taken", c.args)
	}
	crosses(t, "returned", c.result)
}

// crosses checks that nothing of a T is lost, be it full or zero.
func crosses[T, W any](t *testing.T, what string, f form[T, W]) {
	t.Helper()
	if reflect.TypeFor[W]() == reflect.TypeFor[nothing]() {
		return
	}
	var zero T
	for _, v := range []T{filled[T](), zero} {
		w, err := f.to(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.from(over(t, w))
		if err != nil {
			t.Fatal(err)
		}
		check(t, what+", filters", filters(&got), filters(&v))
		check(t, what, got, v)
	}
}

// filters takes the filters out of a value: an equal one may have another form inside.
func filters(v any) (texts []string) {
	var take func(reflect.Value)
	take = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			if f, is := v.Addr().Interface().(*engine.Filter); is {
				texts = append(texts, f.String())
				*f = engine.Filter{}
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					take(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				take(v.Index(i))
			}
		}
	}
	take(reflect.ValueOf(v).Elem())
	return texts
}

// TestNothingIsRounded: bits, kinds of nothing, and kinds of numbers stay.
func TestNothingIsRounded(t *testing.T) {
	v := []float32{0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, math.MaxFloat32, 1. / 3, math.Float32frombits(0x7fa00001)}
	got, err := over(t, pack(v)).unpack()
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if math.Float32bits(got[i]) != math.Float32bits(v[i]) {
			t.Errorf("%x became %x", math.Float32bits(v[i]), math.Float32bits(got[i]))
		}
	}
	for name, d := range map[string]engine.Document{
		"nothing": {}, "empty": {Vector: []float32{}, Metadata: map[string]any{}, Breaks: []int{}},
	} {
		w, err := whole.to(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := whole.from(over(t, w))
		if err != nil {
			t.Fatal(err)
		}
		check(t, name, again, d)
	}
	for _, hits := range [][]engine.Hit{nil, {}} {
		w, err := found.to(engine.Result{Hits: hits})
		if err != nil {
			t.Fatal(err)
		}
		again, err := found.from(over(t, w))
		if err != nil || (again.Hits == nil) != (hits == nil) {
			t.Errorf("hits %#v became %#v, %v", hits, again.Hits, err)
		}
	}
	p := over(t, engine.Progress{Loss: math.NaN()})
	if !math.IsNaN(p.Loss) {
		t.Error(p)
	}
}

// TestErrorsCross: what errors.Is and errors.As find here they find there, and the text is
// the same.
func TestErrorsCross(t *testing.T) {
	mismatch := &encoder.MismatchError{What: "database x", Want: encoder.Fingerprint{Model: "a", Dim: 3}, Got: encoder.Fingerprint{Model: "b"}, Difference: []string{"model: a there, b here"}}
	for _, err := range []error{
		nil, errors.New("plain"), engine.ErrReadOnly, context.Canceled,
		fmt.Errorf("document %q: %w", "a\xff", engine.ErrNotFound),
		&engine.DocumentError{Position: 3, ID: "a\xff", Err: fmt.Errorf("%w: blank", engine.ErrInvalid)},
		fmt.Errorf("outside: %w", &engine.DocumentError{Position: 3, ID: "x", Err: engine.ErrExists}),
		&engine.QueryError{Position: 1, Err: fmt.Errorf("encoding: %w", encoder.ErrSource)},
		&archive.LineError{Line: 7, Err: mismatch},
		mismatch, errors.Join(engine.ErrClosed, fs.ErrPermission),
		&store.CorruptError{Dir: "d", What: "record 7"}, &store.LockedError{Dir: "d", PID: 7},
	} {
		f := faultOf(err)
		if f != nil {
			*f = over(t, *f)
		}
		got := f.error()
		if (got == nil) != (err == nil) || err != nil && got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
		for name, s := range sentinels {
			if errors.Is(got, s) != errors.Is(err, s) {
				t.Errorf("%v: %s is %v there", err, name, errors.Is(got, s))
			}
		}
		for _, as := range []func(error) any{
			func(err error) any { return find[*engine.DocumentError](err) }, func(err error) any { return find[*engine.QueryError](err) },
			func(err error) any { return find[*archive.LineError](err) }, func(err error) any { return find[*encoder.MismatchError](err) },
		} {
			want, got := as(err), as(got)
			if fmt.Sprintf("%+v", want) != fmt.Sprintf("%+v", got) {
				t.Errorf("%v: %+v there, %+v here", err, got, want)
			}
		}
	}
}

func find[E error](err error) E {
	var e E
	errors.As(err, &e)
	return e
}

// TestSentinelsAreWhole: an error that engine names crosses.
func TestSentinelsAreWhole(t *testing.T) {
	known := map[string]bool{}
	for _, s := range sentinels {
		known[s.Error()] = true
	}
	names, err := filepath.Glob("../../engine/*.go")
	if err != nil {
		t.Fatal(err)
	}
	archived, err := filepath.Glob("../../engine/archive/*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, archived...)
	n := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			v, ok := node.(*ast.ValueSpec)
			for i := 0; ok && i < len(v.Names); i++ {
				name := v.Names[i].Name
				if !strings.HasPrefix(name, "Err") {
					continue
				}
				if n++; engineErrors[name] == nil {
					t.Errorf("engine.%s is not in this test's list", name)
				} else if !known[engineErrors[name].Error()] {
					t.Errorf("engine.%s does not cross: add it to sentinels", name)
				}
			}
			return true
		})
	}
	if n < len(engineErrors) {
		t.Errorf("%d errors found, want %d", n, len(engineErrors))
	}
}

var engineErrors = map[string]error{
	"ErrNotFound": engine.ErrNotFound, "ErrNoDatabase": engine.ErrNoDatabase, "ErrNoExport": archive.ErrNoExport, "ErrExists": engine.ErrExists, "ErrInvalid": engine.ErrInvalid, "ErrNoEncoder": engine.ErrNoEncoder,
	"ErrNoReranker": engine.ErrNoReranker, "ErrReranker": engine.ErrReranker, "ErrElsewhere": engine.ErrElsewhere, "ErrBackend": engine.ErrBackend,
	"ErrNotFitted": engine.ErrNotFitted, "ErrClosed": engine.ErrClosed, "ErrCorrupt": engine.ErrCorrupt, "ErrForeign": engine.ErrForeign,
	"ErrLocked": engine.ErrLocked, "ErrNoSpace": engine.ErrNoSpace, "ErrMemory": engine.ErrMemory, "ErrBackup": engine.ErrBackup, "ErrOtherBackup": engine.ErrOtherBackup,
	"ErrOccupied": engine.ErrOccupied, "ErrReadOnly": engine.ErrReadOnly, "ErrEncoder": engine.ErrEncoder,
}
