//go:build cgo

package cli

// hasCGO tells whether this build can use ONNX Runtime.
const hasCGO = true
