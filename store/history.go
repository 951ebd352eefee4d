package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
)

// History is a digest of all commits up to a sequence number: the first 16 bytes of SHA-256 over the
// previous digest, the sequence number, a random nonce, and the log entries of the commit, each
// preceded by its length. Two databases have the same digest only if one is a copy of the other and
// neither has committed since. Data derived from one then fits the other. All zeros mean that the
// digest is not known.
type History [16]byte

// MarshalText writes 32 hexadecimal digits.
func (h History) MarshalText() ([]byte, error) { return UUID(h).MarshalText() }

// UnmarshalText reads 32 hexadecimal digits.
func (h *History) UnmarshalText(b []byte) error { return (*UUID)(h).UnmarshalText(b) }

// chain computes the digest of one commit.
type chain struct{ sum hash.Hash }

func newChain(before History, seq uint64, nonce [16]byte) chain {
	c := chain{sha256.New()}
	c.sum.Write(before[:])
	c.sum.Write(binary.LittleEndian.AppendUint64(nil, seq))
	c.sum.Write(nonce[:])
	return c
}

// add takes one log entry.
func (c chain) add(entry []byte) {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(entry)))
	c.sum.Write(n[:])
	c.sum.Write(entry)
}

func (c chain) history() History { return History(c.sum.Sum(nil)[:16]) }

// newNonce returns 16 random bytes.
func newNonce() (n [16]byte) {
	rand.Read(n[:]) // documented never to fail
	return n
}

// firstHistory is the digest of a database without commits, or of one whose commits so far have no
// digest.
func firstHistory(u UUID) History { return newChain(History(u), 0, newNonce()).history() }

// historyAt returns the digest at a sequence number, zeros if it is not known.
func (p *pin) historyAt(seq uint64) (History, error) {
	switch {
	case seq == p.st.seq:
		return p.st.history, nil
	case seq == p.st.base:
		return p.st.baseHistory, nil
	case seq < p.st.base || seq > p.st.seq:
		return History{}, nil
	}
	c, err := p.commit(seq)
	return c.history, err
}

// History returns the digest of all commits up to the view's commit.
func (v *View) History() [16]byte { return v.p.st.history }

// HistoryAt returns the digest of all commits up to sequence seq. ok is false if it is not known: seq
// has not happened, Compact has passed it (the last such digest is kept), or it was written by a
// program without digests. Cost: at most one point read.
func (v *View) HistoryAt(seq uint64) (h [16]byte, ok bool, err error) {
	err = v.use(func(p *pin) (err error) {
		h, err = p.historyAt(seq)
		return err
	})
	return h, err == nil && h != History{}, err
}

// checkHistory compares the records with HEAD: records copied from another database, or from another
// time of this one, have another history. Missing writes were noticed before, by their number.
func (p *pin) checkHistory(m mark) error {
	if m.history == (History{}) {
		return nil // of format 1
	}
	foreign := p.s.corrupt("the records are not those that "+headName+" tells of: they have another history", nil)
	switch {
	case m.clean && m.gen != p.st.gen: // a writer takes the clean mark away before it writes
		return foreign
	case m.seq > p.st.seq || m.gen == p.st.gen && m.seq != p.st.seq:
		return foreign
	case m.leads && m.seq < p.st.base: // where no digest is known
		return foreign
	}
	h, err := p.historyAt(m.seq)
	if err == nil && h != (History{}) && h != m.history {
		return foreign
	}
	return err
}

var errHistory = errors.New("digest of the commit differs")
