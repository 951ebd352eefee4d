package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
)

// FuzzRecords feeds any bytes to every decoder. None may panic or take memory
// out of proportion, errors must be errRecord, and what decodes must encode to
// something that decodes to the same.
func FuzzRecords(f *testing.F) {
	d := doc("id", 3)
	f.Add(encodeDocument(nil, d))
	f.Add(encodedRows(d.Rows))
	long := doc("long", 5)
	f.Add(encodeDocument(nil, long))
	f.Add(encodedRows(long.Rows))
	text, rows, err := encodeRecords(f.Context(), long, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(rows)
	f.Add(encodeChange(nil, Change{"id", 300, 7}))
	long.Media, long.Rows[1].Codes = "text/html", []byte{1, 2}
	f.Add(encodeDocument(nil, long))
	f.Add(encodedRows(long.Rows))
	long.Rows[0].Impacts = []byte{3, 1}
	f.Add(encodedRows(long.Rows))
	long.Data = []byte{0, 1}
	f.Add(encodeDocument(nil, long))
	f.Add(current{version{1, 2, 3, true}, version{4, 5, 6, false}}.encode())
	f.Add(commit{entries: 1, nextOrd: 2, live: 3, deadBytes: 4}.encode())
	f.Add(commit{entries: 1, nonce: [16]byte{1}, history: History{2}}.encode())
	f.Add(state{gen: 1, seq: 2, newLive: 3, baseHistory: History{4}}.encode())
	f.Add(state{gen: 1}.encode()[:64])
	f.Add(state{gen: 1, terms: 7}.encode())
	f.Add(encodeTerms([]string{"one", "two"}))
	f.Add(mark{major: 1, clean: true, gen: 9}.encode())
	f.Add(mark{major: 2, clean: true, gen: 9, history: History{1}}.encode())
	f.Add([]byte(`{"major":1,"bridges":{"slr":{"file":"f","x":1}},"y":[]}`))
	f.Add([]byte{recordVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	check := func(t *testing.T, err error) bool {
		if err != nil && !errors.Is(err, errRecord) {
			t.Errorf("untyped error %v", err)
		}
		return err == nil
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, d2 Document
		if check(t, decodeDocument(b, &d)) {
			if err := decodeDocument(encodeDocument(nil, &d), &d2); err != nil || !reflect.DeepEqual(d, d2) {
				t.Errorf("document %+v, again %+v, %v", d, d2, err)
			}
		}
		rows, err := decodeRows(t.Context(), b, nil)
		if check(t, err) {
			enc := encodedRows(rows)
			again, err := decodeRows(t.Context(), enc, nil)
			if err != nil || len(rows) != len(again) || !bytes.Equal(enc, encodedRows(again)) {
				t.Errorf("rows %v, again %v, %v", rows, again, err)
			}
		}
		c, err := decodeChange(b)
		if check(t, err) {
			if c2, err := decodeChange(encodeChange(nil, c)); err != nil || c != c2 {
				t.Errorf("change %+v, again %+v, %v", c, c2, err)
			}
		}
		if c, err := decodeCurrent(b); check(t, err) && !bytes.Equal(c.encode(), b) {
			t.Errorf("current %+v", c)
		}
		if c, err := decodeCommit(b); check(t, err) && !bytes.Equal(c.encode(), b) {
			t.Errorf("commit %+v", c)
		}
		if s, err := decodeState(b); check(t, err) && len(b) != 64 && !bytes.Equal(s.encode(), b) {
			t.Errorf("state %+v", s)
		}
		var terms []string
		if check(t, decodeTerms(b, func(term string) error { terms = append(terms, term); return nil })) {
			var again []string
			err := decodeTerms(encodeTerms(terms), func(term string) error { again = append(again, term); return nil })
			if err != nil || !slices.Equal(terms, again) {
				t.Errorf("terms %q, again %q, %v", terms, again, err)
			}
		}
		if n, _, err := partCount(b); check(t, err) && (n < 1 || n > maxParts) {
			t.Errorf("%d parts", n)
		}
		_, err = payloadOf(7, []byte("key"), b)
		check(t, err)
		if p, err := payloadOf(7, []byte("key"), addChecksum(7, []byte("key"), bytes.Clone(b))); err != nil || !bytes.Equal(p, b) {
			t.Errorf("payloadOf: %v", err)
		}
		if m, ok := decodeMark(b); ok && m.clean && m.major <= formatMajor && !bytes.HasPrefix(b, m.encode()) {
			t.Errorf("mark %+v", m)
		}
		if _, m, err := decodeManifest(append(make([]byte, 8), b...)); err == nil {
			enc, err := json.Marshal(m)
			if err != nil {
				return // a date that JSON cannot write, for example
			}
			var m2 Manifest
			if err := json.Unmarshal(enc, &m2); err != nil {
				t.Errorf("manifest %s: %v", enc, err)
			}
			if enc2, err := json.Marshal(m2); err != nil || !bytes.Equal(enc, enc2) {
				t.Errorf("manifest %s, again %s, %v", enc, enc2, err)
			}
		}
	})
}

// encodedRows is a record of rows that is not short.
func encodedRows(rows []Row) []byte {
	p, err := encodeRows(context.Background(), nil, rows, false)
	if err != nil {
		panic(err)
	}
	return p
}
