package pgvector

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestNoErrorHoldsThePassword: a server that repeats the password that it was told is not repeated, be it by
// Options or by libpq's variable.
func TestNoErrorHoldsThePassword(t *testing.T) {
	const password = "s3cr3t-pass"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the end of the test
			}
			if err := repeats(c); err != nil {
				t.Error(err)
			}
		}
	}()
	for _, given := range []string{password, ""} {
		t.Setenv("PGPASSWORD", password)
		b, err := Open(Options{URL: "postgres://me@" + l.Addr().String() + "/db?sslmode=disable", Schema: "s", Password: given, Patience: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Info(t.Context())
		if !errors.Is(err, ErrServer) || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "is wrong") {
			t.Errorf("%v", err)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), password) {
				t.Errorf("within: %v", err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, url := range []string{"postgres://me:" + password + "/db", "postgres://me:" + password + "/db?a@b:1/db", "postgres://me:a/db?" + password + "@b:1/db", "postgres://me:1/" + password + "@b:1/db", "postgres://b:1/db?sslmode=x&api_key=" + password} {
		if _, err := Open(Options{URL: url, Schema: "s"}); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// repeats asks a client for its password and puts it into the error that refuses it.
func repeats(c net.Conn) error {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationCleartextPassword{})
	if err := errors.Join(b.Flush(), b.SetAuthType(pgproto3.AuthTypeCleartextPassword)); err != nil {
		return err
	}
	m, err := b.Receive()
	if err != nil {
		return err
	}
	p, ok := m.(*pgproto3.PasswordMessage)
	if !ok {
		return errors.New("no password came")
	}
	b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "the password " + p.Password + " is wrong"})
	return b.Flush()
}
