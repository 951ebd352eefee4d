package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/limit"
)

// survivors removes the versions of earlier parts that are in none of the part's runs.
func (x *restorer) survivors(ctx context.Context, before place) error {
	if err := x.flush(); err != nil {
		return err
	}
	p := &pin{s: x.s, st: state{nextOrd: before.Next}, txn: x.s.db.NewTransaction(false)}
	defer p.discard()
	it, err := p.iterate(ctx, numberKey(prefixDocument, 1), numberKey(prefixDocument, before.Next))
	if err != nil {
		return err
	}
	defer it.Close()
	if x.kind != frameSurvivors {
		return x.refuse("it does not say which versions of earlier parts are live", nil)
	}
	drop := func(below uint64) error {
		return p.eachOrdinal(ctx, it, below, func(ord uint64) error { return x.forget(ctx, p, ord) })
	}
	var end uint64
	for x.kind == frameSurvivors {
		for runs := x.payload; len(runs) > 0; {
			r := reader{p: runs}
			gap, n := r.uvarint(), r.uvarint()
			runs = r.p
			if r.err != nil || n == 0 || gap > before.Next-end || n > before.Next-end-gap {
				return x.refuse("its list of live versions", errors.New("impossible run of versions"))
			}
			start := end + gap
			end = start + n
			if err := drop(start); err != nil {
				return err
			}
			left := uint64(0)
			if err := p.eachOrdinal(ctx, it, end, func(uint64) error { left++; return nil }); err != nil {
				return err
			}
			if left != n {
				return x.refuse(fmt.Sprintf("%d of the versions %d to %d are not in the parts before", n-left, start, end-1), nil)
			}
		}
		if err := x.next(ctx); err != nil {
			return err
		}
	}
	return errors.Join(drop(before.Next), x.flush())
}

// forget removes a version.
func (x *restorer) forget(ctx context.Context, p *pin, ord uint64) error {
	var d Document
	if err := x.s.record(ctx, p.txn, prefixDocument, ord, func(b []byte) error { return decodeDocument(b, &d) }); err != nil {
		return err
	}
	raw, err := x.s.get(p.txn, idKey(d.ID))
	if err != nil {
		return err
	}
	cur, err := decodeCurrent(raw)
	if err != nil {
		return err
	}
	if err := errors.Join(x.w.apply(op{key: idKey(d.ID)}), x.w.remove(ord)); err != nil {
		return err
	}
	x.live--
	x.bytes -= cur.now.bytes
	if cur.now.truncated {
		x.truncated--
	}
	return nil
}

// document reads the two records of a version.
func (x *restorer) document(ctx context.Context) (ord uint64, d *Document, err error) {
	var n, m uint64
	if len(x.payload) < 24 {
		return 0, nil, x.refuse("a document", errRecord)
	}
	if err := decodeNumbers(x.payload[:24], &ord, &n, &m); err != nil {
		return 0, nil, x.refuse("a document", err)
	}
	const most = 2*limit.DocumentBytes + 1<<20 // with the lengths in a record
	if n > most || m > most {
		return 0, nil, x.refuse(fmt.Sprintf("version %d of %d and %d bytes", ord, n, m), ErrTooLarge)
	}
	all := slices.Clone(x.payload[24:])
	for {
		if err := x.next(ctx); err != nil {
			return 0, nil, err
		}
		if x.kind != frameMore {
			break
		}
		if uint64(len(all)+len(x.payload)) > n+m {
			return 0, nil, x.refuse(fmt.Sprintf("version %d is longer than it says", ord), nil)
		}
		all = append(all, x.payload...)
	}
	if uint64(len(all)) != n+m {
		return 0, nil, x.refuse(fmt.Sprintf("version %d has %d of %d bytes", ord, len(all), n+m), nil)
	}
	d = &Document{}
	if err := decodeDocument(all[:n], d); err != nil {
		return 0, nil, x.refuse(fmt.Sprintf("version %d", ord), err)
	}
	rows, err := decodeRows(ctx, all[n:], nil)
	if err == nil {
		err = d.join(rows)
	}
	if err == nil {
		err = d.check(x.manifest)
	}
	if err == nil && x.accept != nil {
		err = x.accept(d)
	}
	if err != nil {
		return 0, nil, x.refuse(fmt.Sprintf("version %d", ord), err)
	}
	return ord, d, nil
}

// put writes a version.
func (x *restorer) put(ctx context.Context, ord uint64, d *Document) error {
	there, err := x.s.has(x.w.txn, idKey(d.ID))
	if err != nil {
		return err
	}
	if there {
		return x.refuse(fmt.Sprintf("id %.80q is there twice", d.ID), nil)
	}
	text, rows, err := encodeRecords(ctx, d, x.manifest.Short)
	if err != nil {
		return err
	}
	if err := errors.Join(x.w.record(ctx, prefixDocument, ord, text), x.w.rows(ctx, ord, rows)); err != nil {
		return err
	}
	now := version{ord: ord, seq: x.to.Seq, bytes: uint64(len(text) + len(rows)), truncated: d.Truncated > 0}
	if err := x.w.apply(op{idKey(d.ID), current{now: now}.encode()}); err != nil {
		return err
	}
	x.live++
	x.bytes += now.bytes
	if now.truncated {
		x.truncated++
	}
	if x.read++; x.o.Progress != nil && x.read%checkEvery == 1 {
		x.o.Progress(x.read)
	}
	return nil
}
