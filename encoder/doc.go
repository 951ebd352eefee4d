// Package encoder turns texts, and images if the model takes them, into tokens and vectors.
//
// Start with the interface [Encoder]. Package models opens one by the name of its model. [Func] makes one of
// any function from texts to vectors. [Hash] needs no model and is for tests. [Cache] keeps the vectors of
// another encoder on disk.
//
//   - A [Tokenizer] cuts a text into [Tokens]. An [Output] is the result of an Encoder for one [Input].
//   - A [Fingerprint] identifies the vector space of an Encoder. [Check] refuses to mix two spaces.
//
// Packages onnx and native run a model, openai and ollama ask a server, provision fetches a model, modelspec
// reads the folder of a model, tokenizer its tokenizer.json, picture and visual prepare images. Package encodertest has the tests that every
// Encoder must pass.
//
// What holds: an Encoder is safe for concurrent use, keeps the order of its input, and stops soon after its context
// ends. A model cuts a text at Fingerprint.MaxTokens and counts the cut in Tokens.Truncated. A text that a server
// refuses is shortened until it is accepted, and the number of cut tokens is estimated. An input that an Encoder
// refuses is a *TextError with its position. A missing runtime or model is ErrUnavailable, a server that fails is
// ErrSource, and the message names the remedy.
package encoder
