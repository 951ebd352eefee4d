//go:build cgo

package models

// CGO tells whether this build can use ONNX Runtime.
const CGO = true
