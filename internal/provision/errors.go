package provision

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/encoder"
)

// Errors of this package, for errors.Is.
var (
	// ErrUnknownModel is wrapped for a model name that is not registered.
	ErrUnknownModel = errors.New("unknown model")
	// ErrDigest is wrapped if bytes differ from the pinned digest.
	ErrDigest = errors.New("wrong SHA-256 digest")
	// ErrArchive is wrapped if an archive is damaged or malicious.
	ErrArchive = errors.New("unusable archive")
	// ErrCheckpoint is wrapped if weights or their configuration are damaged, or of an architecture
	// that ExportONNX does not write.
	ErrCheckpoint = errors.New("unusable checkpoint")
)

// Attempt is a route that did not provide an artifact.
type Attempt struct {
	Route  string // "cache", "system", "index", "pip", "mvn", "npm", "download", "path"
	Reason error
}

// Missing is an artifact that no route provided.
type Missing struct {
	Artifact string    // "onnxruntime" or the name of the model
	Attempts []Attempt // in the order in which they were made
	Remedy   string    // what the user can do
}

// MissingError says that this machine lacks a part that an encoder needs. It wraps
// encoder.ErrUnavailable and the reason of each attempt.
type MissingError struct {
	Missing []Missing
	Offline bool // clients and connections were not allowed
}

// Error lists each artifact, each route with its reason, and the remedy.
func (e *MissingError) Error() string {
	var b strings.Builder
	for i, m := range e.Missing {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s is missing:", m.Artifact)
		for _, a := range m.Attempts {
			fmt.Fprintf(&b, "\n  %-9s %v", a.Route+":", a.Reason)
		}
		fmt.Fprintf(&b, "\n  remedy: %s", m.Remedy)
	}
	if e.Offline {
		b.WriteString("\noffline mode was asked for, so no package client and no download was tried")
	}
	return b.String()
}

// Unwrap returns encoder.ErrUnavailable and the reasons.
func (e *MissingError) Unwrap() []error {
	errs := []error{encoder.ErrUnavailable}
	for _, m := range e.Missing {
		for _, a := range m.Attempts {
			errs = append(errs, a.Reason)
		}
	}
	return errs
}
