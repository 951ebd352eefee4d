// Package image measures retrieval of images: of the same class, and of images by their parts. Start with
// Run. "lexsem bench image" is its command.
package image
