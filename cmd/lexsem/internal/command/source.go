package command

// modelNone stands for the model of a database with only vectors.
const modelNone = "none"

// errVectorsAlone is the error of encoding with the model of such a database.
var errVectorsAlone = usagef("the database holds only vectors and names no model; name one with --model")
