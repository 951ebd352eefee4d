// Package limit has the limits of what a database stores. The store checks them, and the calls that take documents name
// them in their errors.
package limit

const (
	Bases         = 1 << 10   // bases of token states in a database
	Dim           = 1 << 16   // dimension of vectors
	DocumentBytes = 256 << 20 // sum of id, title, text, metadata and data of a document, and also that of its vectors and token ids
	IDBytes       = 1024      // length of a document's id
	MediaBytes    = 255       // length of a media type
	Rows          = 1 << 18   // chunks of a document
)
