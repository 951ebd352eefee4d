package command

// memoryFlag declares --max-memory.
func memoryFlag(f *flags) *int {
	return f.int("max-memory", 0, "`MIB`most memory besides the vectors, at least 65; documents that exceed it are refused; default no limit")
}
