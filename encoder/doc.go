// Package encoder turns texts into tokens and vectors.
//
// Four nouns: a [Tokenizer] cuts a text into [Tokens]; an [Encoder] runs a
// model over them and gives an [Output]; a [Fingerprint] says which vector
// space that output lives in, and [Check] refuses to mix two of them; a [Spec]
// is what a model needs to be told beside its weights.
//
// Package tokenizer reads the tokenizer.json of a model. [Pooling] makes one unit
// vector of the states of the tokens; a [Pooler] does so as the model's folder says,
// through its Dense modules. [Describe] reads the folders of sentence-transformers.
//
// The model itself runs in package onnx or native below; package provision brings it
// onto the machine. Three encoders live here: [Func] makes one of any function
// from texts to vectors, [Hash] needs no model, for tests, and [Cache] keeps the
// vectors of another encoder on disk. Package encodertest holds the tests that every
// encoder must pass.
package encoder
