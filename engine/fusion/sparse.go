package fusion

// sparseWeight is ω in Calibrated. A share of impacts does not depend on how large a model's weights are, so κ does not
// scale it. It was chosen on capret-en, with a model of two layers.
const sparseWeight = 0.3

// WithSparse adds the score of impacts to Calibrated: candidates have theirs (Candidate.Sparse).
func (f Options) WithSparse() Options {
	f.sparse = sparseWeight
	return f
}
