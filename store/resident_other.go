//go:build !linux

package store

const forgets = false

func forgetMapped(map[string]bool) error { return nil }

func residentFiles() uint64 { return 0 }
