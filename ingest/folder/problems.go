package folder

import (
	"errors"

	"github.com/lexsem/lexsem/internal/problems"
)

// Unreadable parts found by a sync are recorded in two places. Warnings of a file are in its stamp, since the file
// is not read again. Failures are only in the file of problems, since every sync reads such files again.

// loadProblems reads the problems that are not in the stamps.
func (f *Folder) loadProblems() error {
	list, left, err := problems.Read(f.dir, f.root)
	if err != nil {
		return err
	}
	f.lacks, f.left = map[string][]problems.Problem{}, left
	for _, p := range list {
		if _, stamped := f.stamps[p.Path]; !stamped || p.State != problems.Warned {
			f.lacks[p.Path] = append(f.lacks[p.Path], p)
		}
	}
	return nil
}

// warn records an unreadable part of a file other than its text.
func (d *reader) warn(x *reading, line int, text string) {
	x.stamp.Warned = append(x.stamp.Warned, warning{line, text, problems.Now()})
	w := Failure{x.path, line, errors.New(text)}
	d.warned = append(d.warned, w)
	if d.f.o.Warned != nil {
		d.f.mu.Lock()
		defer d.f.mu.Unlock()
		d.f.o.Warned(w)
	}
}

// keepProblems adds to the report the warnings of files that were not read again, and writes the problems of this root.
// whole says that the sync was completed.
func (r *run) keepProblems(whole bool) error {
	f := r.f
	for path, n := range r.failed {
		if n > problems.MaxFailures {
			r.failure(Failure{Path: path, Err: problems.More(n)})
		}
	}
	r.report.Warned = r.warned
	for _, x := range r.walk.files {
		if !r.reread[x.path] {
			for _, w := range f.stamps[x.path].Warned {
				r.report.Warned = append(r.report.Warned, Failure{x.path, w.Line, errors.New(w.Text)})
			}
		}
	}
	for path := range f.lacks {
		if r.reread[path] || whole && r.inScope(path) {
			delete(f.lacks, path)
		}
	}
	for _, x := range r.report.Failed {
		f.lacks[x.Path] = append(f.lacks[x.Path], problemOf(x))
	}
	for _, w := range r.warned {
		if _, stamped := f.stamps[w.Path]; !stamped {
			p := problemOf(w)
			p.State = problems.Warned
			f.lacks[w.Path] = append(f.lacks[w.Path], p)
		}
	}
	if whole && r.scope == nil {
		f.left = r.report.Skipped
	}
	return f.writeProblems()
}

// problemOf returns a failure in the form for storage.
func problemOf(x Failure) problems.Problem {
	p := problems.Problem{State: problems.Failed, Path: x.Path, Line: x.Line, Reason: x.Err.Error()}
	if s, ok := errors.AsType[*StaleError](x.Err); ok {
		p.State, p.Documents, p.Reason = problems.Stale, s.Documents, s.Err.Error()
	}
	return p
}

// vanished records that the whole root is stale.
func (f *Folder) vanished(v *VanishedError) error {
	why := "the folder has no files any more"
	if v.Err != nil {
		why = "the folder cannot be read: " + v.Err.Error()
	}
	f.lacks = map[string][]problems.Problem{"": {{State: problems.Stale, Documents: v.Documents, Reason: why}}}
	return errors.Join(v, f.writeProblems())
}

func (f *Folder) writeProblems() error {
	var list []problems.Problem
	for _, some := range f.lacks {
		list = append(list, some...)
	}
	for _, s := range f.stamps {
		for _, w := range s.Warned {
			list = append(list, problems.Problem{State: problems.Warned, Path: s.Path, Line: w.Line, Reason: w.Text, Time: w.Time})
		}
	}
	return problems.Write(f.dir, f.root, f.left, list)
}
