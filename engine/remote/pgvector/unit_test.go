package pgvector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
)

func TestParse(t *testing.T) {
	o, err := Parse("postgres://me@a:1,b:2/db/na%20me?sslmode=disable&pool_max_conns=3")
	if want := (Options{URL: "postgres://me@a:1,b:2/db?sslmode=disable&pool_max_conns=3", Schema: "na me"}); err != nil || o != want {
		t.Fatalf("%+v, %v, want %+v", o, err, want)
	}
	o.Password = "secret"
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := b.pool.Config()
	if c.MaxConns != 3 || c.ConnConfig.Host != "a" || len(c.ConnConfig.Fallbacks) != 1 || c.ConnConfig.Fallbacks[0].Port != 2 || c.ConnConfig.User != "me" || c.ConnConfig.Password != "secret" ||
		c.ConnConfig.Database != "db" || c.ConnConfig.ValidateConnect == nil || c.ConnConfig.ConnectTimeout != toConnect {
		t.Errorf("%+v", c.ConnConfig)
	}
	if got := b.Name(); got != "postgres a:1/db/na me" {
		t.Errorf("name %q", got)
	}
	for _, s := range []string{"", "postgresql://a:1/db/s", "http://a:1/db/s", "postgres://a:1", "postgres://a:1/db", "postgres://a:1/db/", "postgres://a:1/db/s/t", "postgres:///s", "postgres://a:1//s",
		"postgres://u:secret@a:1/db/s", "postgres://u:se@cret@a:1/db/s", "postgres://u:se/secret@a:1/db/s", "postgres://u:se?secret@a:1/db/s", "postgres://u:se#secret@a:1/db/s", "postgres://a:1/db/s?password=secret", "postgres://a:1/db/s?sslpassword=secret", "postgres://a:1/db/s?PassWord=secret",
		"postgres://a:1/db/s?%zz=secret", "postgres://a:1/db/%zz", "postgres://a:1/db/pg_x", "postgres://a:1/db/information_schema", "postgres://a:1/db/%00", "postgres://a:1/db/%ff", "postgres://a:x/db/s",
		"postgres://a:1/db/s?sslmode=perhaps", "postgres://a:1/db/s?pool_max_conns=x", "postgres://a:1/db/s?pool_health_check_period=0s",
		"postgres://a:1/db/s?pool_min_conns=2000000000", "postgres://a:1/db/s?pool_max_conns=3&pool_min_idle_conns=4", "postgres://a:1/db/" + strings.Repeat("x", 64)} {
		o, err := Parse(s)
		if err == nil {
			_, err = Open(o)
		}
		if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"0.8.0": true, "0.8": true, "0.10.1": true, "1.0.0": true, "1": true, "0.7.4": false, "0.7": false, "0": false, "": false, "x.y": false} {
		if got := atLeast(version, 0, 8); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
	good := found{Version: "0.8.0", Encoding: "UTF8"}
	if err := good.usable(); err != nil {
		t.Error(err)
	}
	for what, f := range map[string]found{"CREATE EXTENSION": {Encoding: "UTF8"}, "upgrade": {Version: "0.7.4", Encoding: "UTF8"}, "ENCODING": {Version: "0.8.0", Encoding: "LATIN1"}} {
		if err := f.usable(); !errors.Is(err, engine.ErrBackend) || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v, want %s", f, err, what)
		}
	}
}

// TestPassing: calls are made again after what passes alone.
func TestPassing(t *testing.T) {
	server := func(code string) error { return fmt.Errorf("x: %w", &pgconn.PgError{Code: code}) }
	for _, err := range []error{server("57P01"), server("57P03"), server("08006"), server("40P01"), server("25006"), server("23505"), fmt.Errorf("x: %w", io.ErrUnexpectedEOF), io.EOF, &net.OpError{Op: "read", Err: io.EOF}, pgconn.ErrConnClosed, &pgconn.ConnectError{}} {
		if !passing(err) {
			t.Errorf("%v does not pass", err)
		}
	}
	for _, err := range []error{server("42601"), server("28P01"), server("22000"), engine.ErrExists, context.Canceled, errors.New("other")} {
		if passing(err) {
			t.Errorf("%v passes", err)
		}
	}
}

// TestWhere: values of a filter stand beside the statement, never in it.
func TestWhere(t *testing.T) {
	values := []any{1, 2}
	evil := `x' OR $1; --"`
	f := filter.And(filter.Eq("a", evil), filter.Not(filter.Or(filter.Ge("b", evil), filter.In("c", 1, evil))), filter.Exists(evil), filter.Prefix("d", evil))
	w, err := condition(f, "p.document", &values)
	if err != nil || strings.Contains(string(w), evil) || strings.Contains(string(w), `"`) {
		t.Fatalf("%s, %v", w, err)
	}
	if want := 2 + 1 + 2 + 1 + 1 + 2; len(values) != want {
		t.Errorf("%d values, want %d: %s", len(values), want, w)
	}
	for i := range values[2:] {
		if strings.Count(string(w)+" ", fmt.Sprintf("$%d ", i+3))+strings.Count(string(w), fmt.Sprintf("$%d)", i+3))+strings.Count(string(w), fmt.Sprintf("$%d:", i+3)) != 1 {
			t.Errorf("value %d: %s", i+3, w)
		}
	}
	if w, err := condition(engine.Filter{}, "n", &values); w != always || err != nil {
		t.Errorf("no filter: %s, %v", w, err)
	}
	values = nil
	ids := filter.Or(filter.In("id", evil, "b"), filter.Prefix("id", evil), filter.Gt("id", evil))
	if w, err := condition(ids, "p.document", &values); err != nil || strings.Contains(string(w), evil) || len(values) != 4 || strings.Count(string(w), "i.n = p.document") != 3 {
		t.Errorf("%s, %v, %d values", w, err, len(values))
	}
	if w, err := condition(filter.In("id"), "n", &values); w != never || err != nil {
		t.Errorf("no id: %s, %v", w, err)
	}
	long := strings.Repeat("p", longestPath+1)
	if _, err := condition(filter.Ge(long, 1), "n", &values); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "501") {
		t.Errorf("an order at a long path: %v", err)
	}
	if _, err := condition(filter.Eq(long, 1), "n", &values); err != nil {
		t.Errorf("equality at a long path: %v", err)
	}
}

func TestBounded(t *testing.T) {
	seen := map[string]string{}
	for n := range 300 {
		for _, c := range "ab" {
			s := strings.Repeat("x", n) + string(c)
			k := string(bounded(s, 100))
			if other, ok := seen[k]; ok || len(k) > 100 || len(s) <= 100 && k != s {
				t.Fatalf("%q and %q: %q", s, other, k)
			}
			seen[k] = s
		}
	}
}

// TestParts: the parts of a scan are beside each other, and together all keys.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, parts := range []int{0, 1, 2, 3, 7, 256} {
		for range 300 {
			id := fmt.Sprint(r.Int64())
			in := 0
			for part := range max(parts, 1) {
				from, to := partOf(remote.ScanOptions{Part: part, Parts: parts})
				if k := keyOf(id); string(k.Bytes[:]) >= string(from.Bytes[:]) && string(k.Bytes[:]) <= string(to.Bytes[:]) {
					in++
				}
			}
			if in != 1 {
				t.Fatalf("%d of %d parts have %s", in, parts, id)
			}
		}
	}
}

// FuzzReadable: what the server is given is a text to it, and comes back bit for bit.
func FuzzReadable(f *testing.F) {
	f.Add("plain", "text")
	f.Add("a\x00b", "\xff\xfe")
	f.Add("", "\xed\xa0\x80\u2028\U0010ffff")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := a, b
		exact, err := readable(&x, &y)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{x, y} {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Fatalf("%q", s)
			}
		}
		if exact == nil && (x != a || y != b) {
			t.Fatalf("%q, %q changed and not kept", a, b)
		}
		if err := restore(exact, &x, &y); err != nil || x != a || y != b {
			t.Fatalf("%q, %q came back as %q, %q, %v", a, b, x, y, err)
		}
	})
}

// FuzzRestore: what was kept and is damaged is an error.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`["YQ==","Yg=="]`))
	f.Add([]byte(`["YQ=="]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, exact []byte) {
		a, b := "1", "2"
		if err := restore(exact, &a, &b); err != nil && (!errors.Is(err, engine.ErrCorrupt) || a != "1" || b != "2") {
			t.Fatalf("%q: %q, %q, %v", exact, a, b, err)
		}
	})
}

// FuzzParse: every text is a URL of this kind or an error.
func FuzzParse(f *testing.F) {
	f.Add("postgres://me@a:1,b:2/db/name?sslmode=disable")
	f.Add("postgres://me:secret@a/db/name?password=x")
	f.Add("postgres://a:1/db/name?pool_health_check_period=-1s&pool_min_conns=99")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := Parse(s)
		if err != nil {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if b, err := Open(o); err == nil {
			b.Close()
		} else if !errors.Is(err, engine.ErrInvalid) {
			t.Fatal(err)
		}
	})
}
