//go:build !race

package modulate

const racing = false
