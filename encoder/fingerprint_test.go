package encoder

import "testing"

func TestFingerprintDigest(t *testing.T) {
	f := NewHash(8).Fingerprint()
	g := f
	g.Probe[0] = nil
	if len(f.Digest()) != 32 || f.Digest() != g.Digest() {
		t.Errorf("digests %q and %q", f.Digest(), g.Digest())
	}
	seen := map[string]bool{f.Digest(): true}
	for _, change := range []func(*Fingerprint){
		func(f *Fingerprint) { f.Model = "x" }, func(f *Fingerprint) { f.Precision = "x" }, func(f *Fingerprint) { f.Tokenizer = "x" },
		func(f *Fingerprint) { f.Pooling = "x" }, func(f *Fingerprint) { f.QueryPrefix = "x" }, func(f *Fingerprint) { f.PassagePrefix = "x" },
		func(f *Fingerprint) { f.MaxTokens++ }, func(f *Fingerprint) { f.Dim++ }, func(f *Fingerprint) { f.VocabSize++ },
	} {
		g := f
		change(&g)
		if seen[g.Digest()] {
			t.Errorf("a changed fingerprint has an old digest: %+v", g)
		}
		seen[g.Digest()] = true
	}
}

// Databases and caches of earlier versions hold these digests.
func TestDigestStays(t *testing.T) {
	f := Fingerprint{Model: "all-MiniLM-L6-v2", Precision: "fp32", Tokenizer: "t", Pooling: "mean", MaxTokens: 256, Dim: 384, VocabSize: 30522}
	if got, want := f.Digest(), "a5708bf808cada78fefbdb7f2d09baa2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
