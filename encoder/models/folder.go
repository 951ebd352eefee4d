package models

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/provision"
)

// A database knows the name of its model, not the folder of it: another machine has another one. So the cache folder
// remembers where a model of that name was last opened: folders/NAME holds the path. The database compares vectors,
// so that another model of the name is refused.

// remember notes the folder that a model was opened from. Failures are only logged: --model still names the folder.
func (o Options) remember(enc encoder.Encoder, name string) {
	before, path := namedPath(name)
	if file, _ := modelname.Int8(path); !isFolder(file) {
		return
	}
	abs, err := filepath.Abs(path)
	abs = before + abs
	if err == nil {
		var note string
		if note, err = o.folderNote(enc.Fingerprint().Model); err == nil {
			if old, failed := os.ReadFile(note); failed == nil && string(old) == abs {
				return
			}
			if err = private.MkdirAll(filepath.Dir(note)); err == nil {
				err = atomicfile.Write(note, func(f *os.File) error {
					_, err := f.WriteString(abs)
					return err
				})
			}
		}
	}
	if err != nil && o.Log != nil {
		o.Log(fmt.Sprintf("the folder of model %s is not remembered: %v; name it with each command", enc.Fingerprint().Model, err))
	}
}

// folderOf returns the folder that a model of that name was opened from, or the name itself if it is a folder, a model
// in the cache or unknown here. An empty name is that of the default model.
func (o Options) folderOf(ctx context.Context, name string) string {
	name = cmp.Or(name, modelname.Unnamed(o.Backend == BackendONNX))
	_, path := namedPath(name)
	if file, _ := modelname.Int8(path); isFolder(file) {
		return name
	}
	note, err := o.folderNote(name)
	if err != nil {
		return name
	}
	noted, err := os.ReadFile(note)
	if err != nil {
		return name
	}
	_, folder := namedPath(string(noted))
	if file, _ := modelname.Int8(folder); !isFolder(file) {
		return name
	}
	if file, _ := modelname.Int8(path); isRegistered(file) {
		r := o.Request(file)
		r.Runtime, r.Offline, r.Log, r.Progress = provision.RuntimeNone, true, nil, nil
		if _, err := provision.Ensure(ctx, r); err == nil {
			return name
		}
	}
	return string(noted)
}

// folderNote is the file that holds the path of a model's folder.
func (o Options) folderNote(model string) (string, error) {
	dir, err := o.cacheDir()
	return filepath.Join(dir, "folders", url.PathEscape(model)), err
}

func (o Options) cacheDir() (string, error) {
	if o.CacheDir != "" {
		return o.CacheDir, nil
	}
	return provision.CacheDir()
}

// probes is the file for the probe vectors of the model in dir, "" for none.
func (o Options) probes(dir, precision string) string {
	abs, err := filepath.Abs(dir)
	if err != nil || o.Verify {
		return ""
	}
	root, err := o.cacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(root, "probes", hex.EncodeToString(sum[:8])+"-"+precision+".json")
}

// namedPath splits a name into "static:" or nothing and the rest.
func namedPath(name string) (before, path string) {
	if teacher, ok := modelname.Static(name); ok {
		return modelname.StaticPrefix + ":", teacher
	}
	return "", name
}

func isRegistered(name string) bool {
	_, ok := modelname.Registered(name)
	return ok
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
