// Package random gives each purpose of the bench its own stream of random numbers.
package random
