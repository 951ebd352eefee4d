package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/provision"
)

// modelInfo is one entry of setup --list --json.
type modelInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Languages   []string `json:"languages"` // ISO 639 codes; empty where it does not matter
	License     string   `json:"license"`
	Licence     string   `json:"licence"` // the same
	Dim         int      `json:"dim"`
	MaxTokens   int      `json:"max_tokens"`
	Pooling     string   `json:"pooling"`
	Bytes       int64    `json:"bytes"`            // of the files as they are fetched
	Present     bool     `json:"present"`          // in the cache
	Backend     string   `json:"backend"`          // what runs it here
	TextsPerSec float64  `json:"texts_per_second"` // measured now; 0 where it or what runs it is not here
	Default     bool     `json:"default"`
}

// listModels prints the registered models and, for models on this machine, how many texts
// they encode in a second.
func listModels(ctx context.Context, a *app, asJSON bool) error {
	p := a.progress()
	defer p.done()
	library, err := provision.Library(ctx, a.listed(p).Request(""))
	if err != nil {
		return err
	}
	backend := models.BackendNative
	if library != "" || a.backend == models.BackendONNX {
		backend = models.BackendONNX
	}
	list := []modelInfo{}
	for _, m := range provision.Models() {
		info := modelInfo{Name: m.Spec.Model, Description: m.Description, Languages: m.Languages, License: m.License, Licence: m.License, Dim: m.Dim,
			MaxTokens: m.Spec.MaxTokens, Pooling: string(m.Spec.Pooling), Bytes: m.Size(), Backend: backend}
		switch {
		case m.Spec.Precision != "fp32":
			info.Backend = models.BackendONNX
		case !m.HasGraph():
			info.Backend = models.BackendNative
		}
		p.update(step{stage: "measuring", done: len(list), total: len(provision.Models()), unit: "models"})
		rows := []modelInfo{info}
		if info.Name == floatModel {
			info.Name, info.Description, info.Backend, info.Default = models.Default, "the same, a byte a weight: twice as fast", models.BackendNative, true
			rows = append(rows, info)
		}
		for i := range rows {
			if err := a.measureModel(ctx, p, &rows[i]); err != nil {
				return fmt.Errorf("measure %s: %w", rows[i].Name, err)
			}
		}
		list = append(list, rows...)
	}
	hash := modelInfo{Name: "hash", Description: "no model: hashes words to a vector, for tests and pipelines", Languages: []string{}, License: "-", Licence: "-",
		Dim: 384, Pooling: "-", Present: true, Backend: models.BackendNative}
	enc := encoder.NewHash(hash.Dim)
	hash.TextsPerSec, err = textsPerSecond(ctx, enc)
	if err := errors.Join(err, enc.Close()); err != nil {
		return err
	}
	list = append(list, hash)
	p.done()
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"models": list})
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tLANGUAGE\tDIM\tSIZE\tLICENCE\tHERE\tTEXTS/S\t")
	for _, m := range list {
		name, languages, size, here, speed := m.Name, strings.Join(m.Languages, " "), "-", "-", "-"
		if m.Default {
			name += " *"
		}
		languages = cmp.Or(languages, "any")
		if m.Bytes > 0 {
			size = fmt.Sprintf("%.0f MB", float64(m.Bytes)/1e6)
		}
		if m.Present {
			here = "yes"
		}
		if m.TextsPerSec > 0 {
			speed = significant(m.TextsPerSec)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", name, languages, m.Dim, size, m.License, here, speed, m.Description)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\n* default. --model also takes the path of a folder, as sentence-transformers writes it or with model.onnx and tokenizer.json.\nAppend -int8 to any name or path of a model to run it in Go with weights of one byte.\nstatic and static:NAME are a table made once of the default model or of NAME: far faster, nearly as good for code, weaker for prose.\nopenai:NAME and ollama:NAME are models behind a URL.\nNAME+splade:FOLDER also weighs words by a SparseEncoder (SPLADE).\n")
	_, err = fmt.Fprintf(a.Stdout, "texts/s: of %d words, on all cores, measured now, run by %s\n", len(strings.Fields(listText)), backendWords(backend))
	return err
}

// listed requests models without fetching any.
func (a *app) listed(p *progress) models.Options {
	o := a.modelOptions(p)
	o.Offline, o.AtHand = true, true
	return o
}

// measureModel opens a model that is on disk and measures it.
func (a *app) measureModel(ctx context.Context, p *progress, m *modelInfo) error {
	found, err := models.Find(ctx, m.Name, a.listed(p))
	if _, ok := errors.AsType[*provision.MissingError](err); ok {
		return nil
	}
	if err != nil {
		return err
	}
	m.Present = true
	enc, backend, err := found.Open(ctx)
	if errors.Is(err, native.ErrModel) { // it is here, and what runs it is not
		return nil
	}
	if err != nil {
		return err
	}
	m.Backend = backend
	m.TextsPerSec, err = textsPerSecond(ctx, enc)
	return errors.Join(err, enc.Close())
}

// listText is the text that listModels encodes: a passage of usual length.
const listText = `The harbour office keeps a ledger of every ship that has entered since the breakwater was built.
Each line names the vessel, her master, the cargo and the day, and a second hand has added in pencil what the
weather was. Historians read it for the prices of grain and salt; the town reads it for the names.`

// textsPerSecond encodes 16 texts like listText again and again for 0.3 s.
func textsPerSecond(ctx context.Context, enc encoder.Encoder) (float64, error) {
	texts := make([]string, 16)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s Entry %d.", listText, i)
	}
	if _, err := enc.Encode(ctx, encoder.Passage, encoder.Texts(texts[:2]...), encoder.NeedDense); err != nil { // what is made once
		return 0, err
	}
	begin, n := time.Now(), 0
	for time.Since(begin) < 300*time.Millisecond {
		if _, err := enc.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense); err != nil {
			return 0, err
		}
		n += len(texts)
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
