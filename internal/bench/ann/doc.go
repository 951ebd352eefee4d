// Package ann measures indexes of nearest neighbours: recall against exact search, speed and memory.
// Start with Run. "lexsem bench ann" is its command.
package ann
