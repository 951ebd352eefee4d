package files

const MaxElements = maxElements

// Registered are all registered kinds.
func Registered() []Kind { return kinds }

var Lines = lines
