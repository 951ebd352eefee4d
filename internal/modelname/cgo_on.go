//go:build cgo

package modelname

// CGO tells whether this build can use ONNX Runtime.
const CGO = true
