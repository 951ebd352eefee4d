// Package encoder turns texts into tokens and vectors, and images where the model takes them.
//
// Start with the interface [Encoder]. Package models opens one by the name of its model. [Func] makes one of
// any function from texts to vectors. [Hash] needs no model and is for tests. [Cache] keeps the vectors of
// another encoder on disk.
//
//   - A [Tokenizer] cuts a text into [Tokens]. An [Output] is what an Encoder makes of one [Input].
//   - A [Fingerprint] identifies the vector space of an Encoder. [Check] refuses to mix two spaces.
//   - A [Spec] tells what the weights of a model leave open, such as [Pooling] and prefixes. [Describe] reads
//     it from a folder of sentence-transformers.
//   - A [Pooler] makes one vector of the states of the tokens, as the folder of the model says.
//
// Packages onnx and native run a model, openai and ollama ask a server, provision fetches a model, tokenizer
// reads tokenizer.json, picture and visual prepare images. Package encodertest has the tests that every
// Encoder must pass.
//
// What holds: an Encoder is safe for concurrent use, keeps the order of its input, and stops soon after its
// context ends. A model cuts a text at Fingerprint.MaxTokens and counts the cut in Tokens.Truncated. A text that
// a server refuses is cut until it is taken, and about as many tokens are counted. An input that an Encoder refuses is a *TextError with its place. A missing runtime or
// model is ErrUnavailable, a server that fails is ErrSource, and the message names the remedy.
package encoder
