package command

// memoryFlag declares --max-memory.
func memoryFlag(f *flags) *int {
	return f.int("max-memory", 0, "`MIB`most that is kept in memory beside the vectors, 65 at least; documents beyond are refused; default no bound")
}
