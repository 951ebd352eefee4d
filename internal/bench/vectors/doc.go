// Package vectors reads, writes and makes sets of vectors for the rooms of package bench.
package vectors
