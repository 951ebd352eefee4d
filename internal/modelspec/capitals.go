package modelspec

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/regular"
)

// capitals refuses a folder whose tokenizer.json keeps capitals where the libraries do not, or the other way round: their
// settings of the tokenizer replace those in the file.
func (d *description) capitals() error {
	var tokenizer struct {
		Lower *bool `json:"do_lower_case"`
	}
	s, err := d.sentence()
	if err == nil {
		_, err = d.read(d.within(fileTokenizer), &tokenizer)
	}
	if err != nil || !s.Lower && tokenizer.Lower == nil {
		return err
	}
	bert, lower, err := d.normalizer(filepath.Join(d.dir, filepath.FromSlash(d.within("tokenizer.json"))))
	if err != nil || s.Lower && lower {
		return err
	}
	of, says := fileTokenizer, tokenizer.Lower
	if s.Lower {
		of, says = fileLength, &s.Lower
	}
	if !s.Lower && (!bert || *says == lower) {
		return nil
	}
	return d.wrong("do_lower_case is %t in %s and %t in tokenizer.json; save the tokenizer anew with what the model was trained with, or correct the wrong one", *says, of, lower)
}

// normalizer returns whether that of a tokenizer.json is BERT's, and whether it lowers capitals. Without a file it is.
func (d *description) normalizer(file string) (bert, lower bool, err error) {
	f, err := regular.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, true, nil
	}
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	type part struct {
		Type  string `json:"type"`
		Lower bool   `json:"lowercase"`
		Parts []part `json:"normalizers"`
	}
	in := json.NewDecoder(f)
	for {
		key, err := in.Token()
		if err == io.EOF {
			return false, false, nil
		}
		if err != nil {
			return false, false, d.wrong("%s: %v", file, err)
		}
		switch key {
		case json.Delim('{'), json.Delim('}'):
			continue
		case "normalizer":
			var p part
			if err := in.Decode(&p); err != nil {
				return false, false, d.wrong("%s: %v", file, err)
			}
			for _, p := range append(p.Parts, p) {
				bert = bert || p.Type == "BertNormalizer"
				lower = lower || p.Type == "Lowercase" || p.Type == "BertNormalizer" && p.Lower
			}
			return bert, lower, nil
		}
		var skipped json.RawMessage
		if err := in.Decode(&skipped); err != nil {
			return false, false, d.wrong("%s: %v", file, err)
		}
	}
}
