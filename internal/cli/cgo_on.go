//go:build cgo

package cli

// hasCGO tells whether this build can run models.
const hasCGO = true
