package command

// modelNone stands for the model of a database of vectors alone.
const modelNone = "none"

// errVectorsAlone answers who wants to encode by the model of such a database.
var errVectorsAlone = usagef("the database holds only vectors and names no model; name one with --model")
