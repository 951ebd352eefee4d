package command

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCertificateIsRenewed: a server has the certificate that is in its files now, and the former one while they do not fit.
func TestCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	c := &certificate{files: [2]string{filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")}, log: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := c.get(nil); err == nil {
		t.Error("no files are a certificate")
	}
	serial := func() int64 {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	make := func(n int64) (cert, key []byte) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		about := &x509.Certificate{SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
		if err != nil {
			t.Fatal(err)
		}
		k, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k})
	}
	write := func(file int, data []byte) {
		if err := os.WriteFile(c.files[file]+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(c.files[file]+".new", c.files[file]); err != nil {
			t.Fatal(err)
		}
	}
	for n := range int64(3) {
		cert, key := make(n + 1)
		write(0, cert)
		if n > 0 {
			if got := serial(); got != n { // with the key of the former one
				t.Errorf("half renewed: %d, want %d", got, n)
			}
		}
		write(1, key)
		if got := serial(); got != n+1 {
			t.Errorf("renewed: %d, want %d", got, n+1)
		}
	}
	if err := os.Remove(c.files[1]); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 3 || strings.Count(log.String(), "read again") != 2 || strings.Count(log.String(), "the former one stays") != 3 {
		t.Errorf("%d: %s", got, &log)
	}
}
