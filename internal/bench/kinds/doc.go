// Package kinds sorts tasks by how their queries ask, and weights them in means over corpora.
package kinds
