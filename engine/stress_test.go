package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestStress has readers, writers, a fit, cancellations, closes and reopenings at
// random beside each other, against a model of the documents.
//
// Documents lie in groups, of which each commit rewrites one: all its documents
// carry the number of that commit's try, their generation, in their metadata. Some commits leave the texts as they
// are and change metadata alone, by Patch and by Upsert; an Upsert of what is stored makes no commit. So a search within a
// group must find exactly the documents of one generation, not older than what
// was acknowledged when it began, not newer than what was tried when it ended,
// and never one whose commit failed. A writer finds its own commit at once. After
// Close and Open everything is as acknowledged.
//
// A round is a second; half of them are with each kind of index.
func TestStress(t *testing.T) {
	seconds, seed := trial.Rounds(t, 1, 1800), trial.Seed(t)
	for i, kind := range []string{index.KindFlatInt8, index.KindHNSWInt8} {
		t.Run(kind, func(t *testing.T) {
			before := runtime.NumGoroutine()
			s := newStress(t, kind, seed+uint64(i))
			missing := func() string {
				for _, did := range []string{"commit", "no commit", "patch", "unchanged", "search", "get", "fit", "closed"} {
					if s.count[did] == 0 && !testing.Short() {
						return did
					}
				}
				return ""
			}
			begin, whole := time.Now(), time.Duration(seconds)*time.Second/2
			for took := time.Since(begin); !t.Failed() && (took < whole || missing() != "" && took < whole+time.Minute); took = time.Since(begin) { // a busy machine gets longer
				s.live()
			}
			t.Logf("%d opened, %d commits, %d refused, %d searches, %d cut short by their deadline, %d by Close", s.count["open"],
				s.count["commit"], s.count["no commit"], s.count["search"], s.count["late"], s.count["closed"])
			if did := missing(); did != "" && !t.Failed() {
				t.Errorf("no %s: the test shows less than it promises", did)
			}
			for until := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(until) {
					stacks := make([]byte, 1<<16)
					t.Fatalf("%d goroutines after Close, %d before Open\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				}
			}
		})
	}
}

const (
	stressGroups  = 9
	stressWriters = 3 // each writes its own third of the groups
	stressReaders = 4
	// stressAll is more hits than there ever are documents, of which a group has
	// 48 at most.
	stressAll = 1000
	// stressHang is how long a call may take beyond its deadline, and Close in all,
	// before it counts as hanging, on a slow machine under the race detector.
	stressHang = 10 * time.Second
)

// fate is what became of a try to commit.
type fate int

const (
	pending fate = iota
	stored
	refused
)

// generation is the content of a group that one commit tried to make.
type generation struct {
	size int // documents; 0 after a delete
	text int // generation that the texts are of: its own, or an earlier one
	fate fate
	seen bool // by a search
}

// group is the model of one group; tries are its generations, 0 being empty.
type group struct {
	mu    sync.Mutex
	tries []generation
	last  int // that is stored
}

type stress struct {
	t      *testing.T
	kind   string
	dir    string
	rng    *rand.Rand // of the goroutine that opens and closes
	enc    encoder.Encoder
	groups [stressGroups]*group

	mu    sync.Mutex
	count map[string]int
}

func newStress(t *testing.T, kind string, seed uint64) *stress {
	s := &stress{t: t, kind: kind, dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 12)), enc: hash(t), count: map[string]int{}}
	for g := range s.groups {
		s.groups[g] = &group{tries: []generation{{fate: stored}}}
	}
	return s
}

func (s *stress) did(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[what]++
}

// stressText is the text of a document: every seventh is long enough for chunks.
func stressText(g, gen, i int) string {
	words := 6
	if i%7 == 3 {
		words = 60
	}
	var b strings.Builder
	fmt.Fprintf(&b, "everything of group%d generation%d number%d.", g, gen, i)
	for w := range words {
		fmt.Fprintf(&b, " matter%d.", (g*31+gen*17+i*7+w*w)%997)
	}
	return b.String()
}

func stressID(g, i int) string { return fmt.Sprintf("g%d-%d", g, i) }

func stressDocs(g, gen, text, size int) []engine.Document {
	d := make([]engine.Document, size)
	for i := range d {
		d[i] = engine.Document{ID: stressID(g, i), Text: stressText(g, text, i), Metadata: map[string]any{"group": fmt.Sprint(g), "gen": gen}}
		if i%5 == 1 {
			v := make([]float32, dim)
			for j := range v {
				v[j] = float32((g*7+text*13+i*j)%29) - 14
			}
			v[text%dim] += 20
			d[i].Vector = v
		}
	}
	return d
}

func stressFilter(g int) engine.Filter { return filter.Eq("group", fmt.Sprint(g)) }

// live opens the database, compares it with the model, lets everything run for a
// while, closes it meanwhile, and ends when all calls have ended.
func (s *stress) live() {
	t := s.t
	o := engine.Options{Index: s.kind, ChunkTokens: 32, NoSync: s.rng.IntN(2) == 0, TokenStates: []string{engine.TokenStatesOn, engine.TokenStatesOff, ""}[s.rng.IntN(3)]}
	e, err := engine.Open(t.Context(), s.dir, s.enc, o)
	if err != nil {
		t.Fatal(err)
	}
	s.did("open")
	s.compare(e)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	run := func(step func(ctx context.Context, e *engine.Engine, r *rand.Rand) error) {
		r := rand.New(rand.NewPCG(s.rng.Uint64(), 0))
		wg.Go(func() {
			for !t.Failed() {
				if err := step(ctx, e, r); errors.Is(err, engine.ErrClosed) {
					s.did("closed")
					return
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for w := range stressWriters {
		run(func(ctx context.Context, e *engine.Engine, r *rand.Rand) error { return s.write(ctx, e, r, w) })
	}
	for range stressReaders {
		seq := uint64(0)
		run(func(ctx context.Context, e *engine.Engine, r *rand.Rand) error {
			time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
			return s.read(ctx, e, r, &seq)
		})
	}
	run(s.fit)
	run(func(ctx context.Context, e *engine.Engine, r *rand.Rand) error {
		time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
		return s.look(ctx, e, r)
	})
	time.Sleep(time.Duration(200+s.rng.IntN(1500)) * time.Millisecond)
	s.close(e)
	cancel()
	wg.Wait()
	for g, m := range s.groups {
		for gen, try := range m.tries {
			if try.fate == pending {
				t.Errorf("group %d: generation %d has no outcome", g, gen)
			}
			if try.fate == refused && try.seen {
				t.Errorf("group %d: a search saw generation %d, whose commit failed", g, gen)
			}
		}
	}
}

// close closes e while calls run: calls that come after get ErrClosed.
func (s *stress) close(e *engine.Engine) {
	start, closed := time.Now(), make(chan error, 1)
	go func() { closed <- e.Close() }()
	for { // until that goroutine has come to run
		_, err := e.Search(s.t.Context(), engine.Query{Text: "everything"})
		if err == engine.ErrClosed {
			break
		}
		if err != nil || time.Since(start) > 10*time.Second {
			s.t.Errorf("a search %v after Close began: %v, want ErrClosed", time.Since(start), err)
			break
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-closed:
		if err != nil {
			s.t.Errorf("Close: %v", err)
		}
		if err := e.Close(); err != nil {
			s.t.Errorf("a second Close: %v", err)
		}
	case <-time.After(stressHang - time.Since(start)):
		stacks := make([]byte, 1<<18)
		s.t.Fatalf("Close has not returned after %v\n%s", stressHang, stacks[:runtime.Stack(stacks, true)])
	}
}

// limited gives some calls a deadline, which may end them anywhere, and holds
// them to it.
func (s *stress) limited(ctx context.Context, r *rand.Rand, what string, call func(context.Context) error) (err error, late bool) {
	start, limit := time.Now(), time.Duration(0)
	if r.IntN(3) == 0 {
		limit = time.Duration(1+r.IntN(15_000)) * time.Microsecond
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err = call(ctx)
	if over := time.Since(start) - limit; over > stressHang {
		s.t.Errorf("%s came back %v after its deadline of %v", what, over, limit)
	}
	if limit > 0 && errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		s.did("late")
		return nil, true
	}
	return err, false
}

// write rewrites one group of the writer's own, or deletes all of it.
func (s *stress) write(ctx context.Context, e *engine.Engine, r *rand.Rand, writer int) error {
	g := writer + stressWriters*r.IntN(stressGroups/stressWriters)
	m := s.groups[g]
	if r.IntN(6) == 0 {
		return s.writeAgain(ctx, e, r, g)
	}
	m.mu.Lock()
	size := m.tries[m.last].size
	gen, next := len(m.tries), generation{}
	emptied := size > 0 && r.IntN(4) == 0
	kept := size > 0 && !emptied && r.IntN(3) == 0 // the texts
	switch {
	case kept:
		next = generation{size: size, text: m.tries[m.last].text}
	case !emptied:
		next = generation{size: max(1, size) + r.IntN(8), text: gen}
		if size > 40 {
			next.size = size
		}
	}
	m.tries = append(m.tries, next)
	m.mu.Unlock()

	var seq uint64
	err, _ := s.limited(ctx, r, "a write", func(ctx context.Context) (err error) {
		var res engine.AddResult
		n := size
		switch {
		case emptied && r.IntN(2) == 0:
			n, err = e.DeleteWhere(ctx, stressFilter(g))
		case emptied:
			ids := make([]string, size)
			for i := range ids {
				ids[i] = stressID(g, i)
			}
			n, err = e.Delete(ctx, ids)
		case kept && r.IntN(2) == 0:
			patches := make([]engine.Patch, size)
			for i := range patches {
				patches[i] = engine.Patch{ID: stressID(g, i), Metadata: map[string]any{"gen": gen}}
			}
			n, err = e.Patch(ctx, patches)
			res.Replaced = n
			s.did("patch")
		case size == 0 && r.IntN(2) == 0:
			res, err = e.Add(ctx, stressDocs(g, gen, next.text, next.size))
		default:
			res, err = e.Upsert(ctx, stressDocs(g, gen, next.text, next.size))
		}
		if err == nil && n != size {
			s.t.Errorf("group %d: %d documents deleted or patched, %d were there", g, n, size)
		}
		if err == nil && !emptied && (res.Added != next.size-size || res.Replaced != size) {
			s.t.Errorf("group %d: %d added and %d replaced in going from %d to %d documents", g, res.Added, res.Replaced, size, next.size)
		}
		seq = res.Seq
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.tries[gen].fate = refused; err == nil {
			m.tries[gen].fate, m.last = stored, gen
		}
		return err
	})
	m.mu.Lock()
	done := m.tries[gen].fate == stored
	m.mu.Unlock()
	if !done {
		s.did("no commit")
		return err
	}
	s.did("commit")
	if r.IntN(4) > 0 {
		return err
	}
	// What was acknowledged is found by who wrote it.
	res, err := e.Search(ctx, engine.Query{Text: "everything", K: stressAll, Ef: stressAll, Filter: stressFilter(g)})
	if err != nil {
		return ignoreCancelled(ctx, err)
	}
	if got, err := s.generationOf(g, res.Hits); err != nil || got != gen && len(res.Hits) > 0 || len(res.Hits) != next.size || res.Trace.Seq < seq {
		return fmt.Errorf("group %d: after commit %d of generation %d with %d documents a search at commit %d found %d of generation %d (%v)",
			g, seq, gen, next.size, res.Trace.Seq, len(res.Hits), got, err)
	}
	return nil
}

// writeAgain stores what is stored, which changes nothing.
func (s *stress) writeAgain(ctx context.Context, e *engine.Engine, r *rand.Rand, g int) error {
	m := s.groups[g]
	m.mu.Lock()
	gen := m.last
	is := m.tries[gen]
	m.mu.Unlock()
	err, late := s.limited(ctx, r, "a write of what is stored", func(ctx context.Context) error {
		res, err := e.Upsert(ctx, stressDocs(g, gen, is.text, is.size))
		if err == nil && (res.Unchanged != is.size || res.Added+res.Replaced > 0) {
			s.t.Errorf("group %d: %+v for %d documents that are stored", g, res, is.size)
		}
		return err
	})
	if err == nil && !late && is.size > 0 {
		s.did("unchanged")
	}
	return err
}

// ignoreCancelled is err unless the run is over.
func ignoreCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return engine.ErrClosed
	}
	return err
}

// textOf is the text of a document of a generation.
func (s *stress) textOf(g, gen, i int) string {
	m := s.groups[g]
	m.mu.Lock()
	defer m.mu.Unlock()
	if gen >= len(m.tries) {
		return "" // that was never tried
	}
	return stressText(g, m.tries[gen].text, i)
}

// generationOf checks that hits are whole documents of one generation of a group
// and returns it; 0 without hits.
func (s *stress) generationOf(g int, hits []engine.Hit) (int, error) {
	gen, seen := 0, map[string]bool{}
	for _, h := range hits {
		n, err := h.Metadata["gen"].(json.Number).Int64()
		if err != nil {
			return 0, err
		}
		if gen != 0 && gen != int(n) {
			return 0, fmt.Errorf("group %d: one search saw generations %d and %d", g, gen, n)
		}
		gen = int(n)
		var ofGroup, i int
		if _, err := fmt.Sscanf(h.ID, "g%d-%d", &ofGroup, &i); err != nil || ofGroup != g || seen[h.ID] {
			return 0, fmt.Errorf("group %d: hit %s, seen before: %v", g, h.ID, seen[h.ID])
		}
		seen[h.ID] = true
		if want := s.textOf(g, gen, i); h.Start < 0 || h.End > len(want) || h.Start > h.End || h.Text != want[h.Start:h.End] {
			return 0, fmt.Errorf("%s of generation %d: bytes [%d, %d) are %q", h.ID, gen, h.Start, h.End, h.Text)
		}
	}
	return gen, nil
}

// read searches a group, or all of them, or gets a document, and holds it to the
// model.
func (s *stress) read(ctx context.Context, e *engine.Engine, r *rand.Rand, seq *uint64) error {
	var from [stressGroups]int
	for g, m := range s.groups {
		m.mu.Lock()
		from[g] = m.last
		m.mu.Unlock()
	}
	g := r.IntN(stressGroups)
	if r.IntN(5) == 0 {
		return s.get(ctx, e, r, g, from[g])
	}
	q := engine.Query{Text: fmt.Sprintf("everything matter%d generation%d", r.IntN(997), from[g]), K: stressAll, Ef: stressAll}
	all := r.IntN(3) == 0
	if !all {
		q.Filter = stressFilter(g)
	}
	q.Mode = []string{engine.ModeDense, engine.ModeHybrid, engine.ModeLexical, engine.ModeAuto}[r.IntN(4)]
	if q.Mode != engine.ModeLexical {
		q.Variant = []string{"", "", engine.VariantNone, "rlr", engine.VariantLocal, "rlr+slr"}[r.IntN(6)]
	}
	var res engine.Result
	err, late := s.limited(ctx, r, "a search", func(ctx context.Context) (err error) {
		res, err = e.Search(ctx, q)
		return err
	})
	if late || errors.Is(err, engine.ErrNotFitted) && q.Variant == "rlr+slr" {
		return nil
	}
	if err != nil {
		return err
	}
	s.did("search")
	if res.Trace.Seq < *seq {
		return fmt.Errorf("a reader saw commit %d after commit %d", res.Trace.Seq, *seq)
	}
	*seq = res.Trace.Seq
	what := fmt.Sprintf("mode %q, variant %q, all groups: %v", q.Mode, q.Variant, all)
	for h, hits := range byGroup(res) {
		if !all && h != g {
			if len(hits) > 0 {
				return fmt.Errorf("%s: group %d came in a search for %d", what, h, g)
			}
			continue
		}
		gen, err := s.generationOf(h, hits)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		err = s.may(h, from[h], what, func(n int, try generation) bool {
			return try.size == len(hits) && (n == gen || try.size == 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byGroup sorts hits; one whose id is of no group goes to the first, where it is
// found out.
func byGroup(res engine.Result) (hits [stressGroups][]engine.Hit) {
	for _, h := range res.Hits {
		var g, i int
		if _, err := fmt.Sscanf(h.ID, "g%d-%d", &g, &i); err != nil || g < 0 || g >= stressGroups {
			g = 0
		}
		hits[g] = append(hits[g], h)
	}
	return hits
}

// get reads one document.
func (s *stress) get(ctx context.Context, e *engine.Engine, r *rand.Rand, g, from int) error {
	i := r.IntN(20)
	d, err := e.Get(ctx, stressID(g, i))
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return ignoreCancelled(ctx, err)
	}
	s.did("get")
	gen := -1
	if err == nil {
		n, err := d.Metadata["gen"].(json.Number).Int64()
		if err != nil {
			return err
		}
		if gen = int(n); d.Text != s.textOf(g, gen, i) {
			return fmt.Errorf("%s of generation %d has the text %q", d.ID, gen, d.Text)
		}
	}
	return s.may(g, from, "get", func(n int, try generation) bool { return n == gen || gen < 0 && i >= try.size })
}

// may checks that what was read is a generation that may be seen: from the one
// that was stored when the call began to the last that was tried when it ended.
func (s *stress) may(g, from int, what string, same func(n int, try generation) bool) error {
	m := s.groups[g]
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := from; n < len(m.tries); n++ {
		if try := &m.tries[n]; try.fate != refused && same(n, *try) {
			// Generations of equal content, empty ones, do not tell which was seen.
			try.seen = try.seen || try.size > 0 && what != "get"
			return nil
		}
	}
	return fmt.Errorf("group %d, %s: what was found is none of the generations %+v from %d on", g, what, m.tries[from:], from)
}

// fit fits a small bridge, or begins to.
func (s *stress) fit(ctx context.Context, e *engine.Engine, r *rand.Rand) error {
	limited, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(400))*time.Millisecond)
	defer cancel()
	if r.IntN(2) == 0 {
		limited = ctx
	}
	_, err := e.Fit(limited, engine.FitOptions{Seed: r.Uint64(), QueriesPerPassage: 1, MaxQueries: 60, Epochs: 1})
	s.did("fit")
	late := limited != ctx && errors.Is(err, context.DeadlineExceeded)
	if errors.Is(err, engine.ErrInvalid) || late || ctx.Err() != nil && errors.Is(err, ctx.Err()) { // too few documents, or cut short
		time.Sleep(time.Millisecond)
		return nil
	}
	return err
}

// look calls what else reads.
func (s *stress) look(ctx context.Context, e *engine.Engine, r *rand.Rand) error {
	g := r.IntN(stressGroups)
	err, _ := s.limited(ctx, r, "a look", func(ctx context.Context) error {
		switch r.IntN(4) {
		case 0:
			_, err := e.Stats(ctx)
			return err
		case 1:
			_, _, err := e.Vector(ctx, engine.Query{Text: "everything", Variant: "rlr"})
			return err
		case 2:
			_, err := e.Explain(ctx, engine.Query{Text: "everything of it"}, stressID(g, 0))
			if errors.Is(err, engine.ErrNotFound) {
				return nil
			}
			return err
		default:
			rep, err := e.Verify(ctx, nil)
			if err == nil && len(rep.Problems) > 0 {
				err = fmt.Errorf("verify: %v", rep.Problems)
			}
			return err
		}
	})
	return err
}

// compare holds the whole database to the model, while nothing else runs.
func (s *stress) compare(e *engine.Engine) {
	t, all := s.t, 0
	for g, m := range s.groups {
		want := m.tries[m.last]
		all += want.size
		for _, mode := range []string{engine.ModeDense, engine.ModeLexical, engine.ModeHybrid} {
			res, err := e.Search(t.Context(), engine.Query{Text: "everything", K: stressAll, Ef: stressAll, Mode: mode, Filter: stressFilter(g)})
			if err != nil {
				t.Fatalf("after Open: %v", err)
			}
			if gen, err := s.generationOf(g, res.Hits); err != nil || len(res.Hits) != want.size || gen != m.last && want.size > 0 {
				t.Fatalf("after Open, group %d, %s: %d documents of generation %d, want %d of %d (%v)", g, mode, len(res.Hits), gen, want.size, m.last, err)
			}
		}
		for i := range want.size {
			d, err := e.Get(t.Context(), stressID(g, i))
			if err != nil || d.Text != s.textOf(g, m.last, i) {
				t.Fatalf("after Open: %s: %q, %v", stressID(g, i), d.Text, err)
			}
		}
	}
	st, err := e.Stats(t.Context())
	if err != nil || st.Documents != all {
		t.Fatalf("after Open: %d documents, want %d (%v)", st.Documents, all, err)
	}
	rep, err := e.Verify(t.Context(), nil)
	if err != nil || len(rep.Problems) > 0 || rep.Documents != all {
		t.Fatalf("after Open: %+v, %v", rep, err)
	}
}
