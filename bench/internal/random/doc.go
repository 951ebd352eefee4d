// Package random gives each purpose of the bench a stream of random numbers of its own.
package random
