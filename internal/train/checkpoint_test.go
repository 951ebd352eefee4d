package train

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// resumable is the fit that the tests stop and take up again.
func resumable(stack string, bias bool) (Options, func(t testing.TB) (encoder.Encoder, Corpus)) {
	o := small
	o.Stack, o.Bias, o.CheckpointEvery = stack, bias, 1
	return o, func(t testing.TB) (encoder.Encoder, Corpus) {
		enc := encoder.NewHash(32)
		return enc, encoded(t, enc, invented(120))
	}
}

func bridgeBytes(t testing.TB, enc encoder.Encoder, c Corpus, o Options) []byte {
	t.Helper()
	w, _, err := Fit(context.Background(), c, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A fit that was stopped anywhere goes on to the very bytes of one that was not.
func TestFitResumes(t *testing.T) {
	for _, stack := range []string{"rlr+slr", "llr", "llr-full"} {
		t.Run(stack, func(t *testing.T) {
			o, make := resumable(stack, true)
			enc, corpus := make(t)
			want := bridgeBytes(t, enc, corpus, o)
			o.Checkpoint = filepath.Join(t.TempDir(), "fit")
			total := 0
			for _, stop := range []int{3, 9, 13} { // in the first epoch, in the second
				ctx, cancel := context.WithCancel(t.Context())
				first := 0
				o.Progress = func(stage string, done, all int, _ float64) {
					if stage != "fit" {
						return
					}
					if first == 0 {
						first = done
					}
					if total = all; done == stop {
						cancel()
					}
				}
				_, _, err := Fit(ctx, corpus, enc, o)
				cancel()
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("stopped at %d of %d: %v", stop, total, err)
				}
				if stop == 9 && first != 4 || stop == 13 && first != 10 {
					t.Errorf("went on with step %d", first)
				}
			}
			o.Progress = nil
			if !bytes.Equal(bridgeBytes(t, enc, corpus, o), want) {
				t.Error("the resumed fit made another bridge")
			}
		})
	}
}

const childEnv = "LEXSEM_TEST_FIT_CHECKPOINT"

// TestFitChild is the process that TestFitSurvivesKill kills.
func TestFitChild(t *testing.T) {
	path := os.Getenv(childEnv)
	if path == "" {
		t.Skip("the killed side of TestFitSurvivesKill")
	}
	o, make := resumable("rlr+slr", false)
	enc, corpus := make(t)
	o.Checkpoint = path
	o.Progress = func(stage string, done, _ int, _ float64) {
		if stage == "fit" {
			if err := os.WriteFile(path+".step", []byte(strconv.Itoa(done)), 0o644); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	bridgeBytes(t, enc, corpus, o)
}

func TestFitSurvivesKill(t *testing.T) {
	o, make := resumable("rlr+slr", false)
	enc, corpus := make(t)
	want := bridgeBytes(t, enc, corpus, o)
	path := filepath.Join(t.TempDir(), "fit")
	for _, stop := range []int{4, 11} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFitChild$")
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			b, _ := os.ReadFile(path + ".step")
			if n, _ := strconv.Atoi(string(b)); n >= stop {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the child made no step")
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended before it was killed")
		}
	}
	o.Checkpoint = path
	first := 0
	o.Progress = func(stage string, done, _ int, _ float64) {
		if stage == "fit" && first == 0 {
			first = done
		}
	}
	if got := bridgeBytes(t, enc, corpus, o); !bytes.Equal(got, want) {
		t.Error("the fit made another bridge after it was killed")
	}
	if first < 11 {
		t.Errorf("the fit began again at step %d", first)
	}
}

// A checkpoint that is damaged, or of another fit, is never gone on from.
func TestForeignCheckpoints(t *testing.T) {
	o, make := resumable("rlr+slr", false)
	enc, corpus := make(t)
	want := bridgeBytes(t, enc, corpus, o)
	path := filepath.Join(t.TempDir(), "fit")
	o.Checkpoint = path
	bridgeBytes(t, enc, corpus, o)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	other := o
	other.Seed = 9
	bridgeBytes(t, enc, corpus, other)
	foreign, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"flipped": flipped, "cut": good[:len(good)-9], "longer": append(bytes.Clone(good), 0), "empty": {}, "foreign": foreign, "text": []byte("LEXSEMCK hello, this is no checkpoint"),
	} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		first := 0
		o.Progress = func(stage string, done, _ int, _ float64) {
			if stage == "fit" && first == 0 {
				first = done
			}
		}
		if got := bridgeBytes(t, enc, corpus, o); first != 1 || !bytes.Equal(got, want) {
			t.Errorf("%s: went on with step %d", name, first)
		}
	}
	hard := o
	hard.HardNegatives = func(context.Context, []float32, int, int) ([]int, error) { return nil, nil }
	if set, q := (&passages{}), (&queries{}); fitKey(set, q, "slr", "", "", o) == fitKey(set, q, "slr", "", "", hard) {
		t.Error("hard negatives have the key of even ones")
	}
	o.Checkpoint = filepath.Join(t.TempDir(), "no", "folder")
	if _, _, err := Fit(t.Context(), corpus, enc, o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a checkpoint that cannot be written: %v", err)
	}
}
