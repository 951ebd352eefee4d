package atomicfile

// SyncDir does nothing, since Windows cannot sync a folder.
func SyncDir(string) error { return nil }
