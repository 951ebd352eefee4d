package engine

// SetFailpoint lets f hear of named moments until the returned function is called.
func SetFailpoint(f func(name string)) (reset func()) {
	failpoint = f
	return func() { failpoint = nil }
}

// SetNewTokenStates says what new databases are made with.
func SetNewTokenStates(mode string) { newTokenStates = mode }

// SetTokenTail says how many bytes of token states may lie in memory.
func SetTokenTail(n int64) { tokenTail = n }
