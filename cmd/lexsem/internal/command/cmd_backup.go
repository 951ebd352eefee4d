package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
)

var cmdBackup = command{
	name:    "backup",
	args:    "FILE | -",
	summary: "copy a database into a file; later runs append the changes",
	about: `
Writes documents, vectors and fitted bridges as of the last commit. A new FILE is written
completely or not at all. If FILE is a backup of the same database, the changes since its last
part are appended to it, so a nightly backup writes only the changes of the day. A FILE of another
database, or of another history of this one, is refused: name a new FILE. "-" writes a full
backup to standard output. No model is needed.`,
	examples: []string{
		"lexsem backup --db notes.db notes.backup",
		"lexsem backup --db notes.db - | zstd > notes.zst",
	},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print the result as JSON; with FILE -, on standard error")
		return func(ctx context.Context, a *app, args []string) error { return runBackup(ctx, a, args, *asJSON) }
	},
}

// backupSummary is the output of backup --json.
type backupSummary struct {
	DB   string `json:"db"`
	File string `json:"file"`
	archive.BackupReport
}

func runBackup(ctx context.Context, a *app, args []string, asJSON bool) error {
	if len(args) != 1 || args[0] == "" {
		return hinted(usagef("backup takes one file"), "lexsem backup --db DIR FILE, or - for standard output")
	}
	file := args[0]
	if file == "-" && a.StdoutTerminal {
		return hinted(usagef("a backup is binary data and is not written to a terminal"), "name a file, or redirect standard output to one")
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	e, err := a.openBare(ctx, dir, engine.Options{Logger: a.warnings(), Progress: func(s engine.Progress) {
		if s.Stage == "backup" {
			p.update(step{stage: "backing up", done: s.Done, total: s.Total, unit: "documents"})
		}
	}})
	if err != nil {
		return err
	}
	var r archive.BackupReport
	out := a.Stdout
	if file == "-" {
		out = a.Stderr
		r, err = e.BackupTo(ctx, raw(a.Stdout))
	} else {
		r, err = e.Backup(ctx, file)
	}
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	p.done()
	if asJSON {
		return json.NewEncoder(out).Encode(backupSummary{dir, file, r})
	}
	if r.Part == 0 {
		_, err = fmt.Fprintf(out, "%s: nothing has changed since its last part, of commit %d\n", file, r.Seq)
	} else {
		_, err = fmt.Fprintf(out, "%s: part %d, commit %d: %s, %s of them in this part of %s\n", file, r.Part, r.Seq,
			count(r.Documents, "document", "documents"), thousands(r.Written), bytesOf(r.Bytes))
	}
	return err
}

var cmdRestore = command{
	name:    "restore",
	args:    "FILE | -",
	summary: "make a database from a backup",
	about: `
Makes the database --db from a file that ` + "`lexsem backup`" + ` wrote. The folder must be empty or
missing. Nothing is written into it until the whole backup has been checked. The result is a new
database with the same documents and the same search results; its own backups need new files.
--parts N restores only the first N parts: an earlier state, or the parts before a damaged one.
No model is needed.`,
	examples: []string{
		"lexsem restore --db again.db notes.backup",
		"zstd -dc notes.zst | lexsem restore --db again.db -",
	},
	declare: func(f *flags) action {
		parts := f.int("parts", 0, "restore only the first N parts; default all")
		asJSON := f.bool("json", "print the result as JSON")
		return func(ctx context.Context, a *app, args []string) error {
			return runRestore(ctx, a, args, *parts, *asJSON)
		}
	},
}

func runRestore(ctx context.Context, a *app, args []string, parts int, asJSON bool) error {
	if len(args) != 1 {
		return hinted(usagef("restore takes one file"), "lexsem restore --db DIR FILE, or - for standard input")
	}
	if parts < 0 {
		return usagef("--parts %d: use a positive number, or 0 for all", parts)
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	in, err := a.input(args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := archive.Restore(ctx, dir, in, archive.RestoreOptions{Parts: parts, Progress: func(documents int) {
		p.update(step{stage: "restoring", done: documents, unit: "documents"})
	}})
	if err != nil {
		return err
	}
	if err := a.settle(ctx, dir); err != nil {
		return err
	}
	p.done()
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"db": dir, "parts": r.Parts, "seq": r.Seq, "documents": r.Documents})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s restored, as of commit %d (%s)\n", dir, count(r.Documents, "document", "documents"), r.Seq, count(r.Parts, "part", "parts"))
	return err
}

// settle builds the state that the first search would otherwise wait for.
func (a *app) settle(ctx context.Context, dir string) error {
	e, err := a.openBare(ctx, dir, engine.Options{Logger: a.warnings()})
	if err != nil {
		return err
	}
	return errors.Join(e.Flush(ctx), e.close())
}
