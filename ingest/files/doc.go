// Package files answers which documents a file holds.
//
// KindOf names the kind of a file by its name, Read yields its documents one after
// the other. Memory stays bounded by one document. What is no document, or damaged, is
// an error that says where and what to do, never a panic.
//
//	kind      names               documents
//	markdown  .md .markdown       one; title and metadata of its front matter (YAML, TOML), else
//	                              the title is its first heading; breaks at headings
//	text      .txt .rst README …  one
//	html      .html .htm .xhtml   one: the article, or all that is shown where a page has none;
//	                              language, description, author, published; breaks at headings
//	code      .go .py .js …       one; the language; breaks at declarations (Go), or at lines
//	                              without indent behind blank ones
//	jsonl     .jsonl .ndjson      one a line; other fields are metadata. Also what Qdrant,
//	                              Chroma and LangChain dump
//	json      .json               one: an object; several: an array of objects, the array "documents"
//	                              of an object, or objects one behind the other; fields as in jsonl
//	csv, tsv  .csv .tsv           one a row below the header; other columns are metadata
//	parquet   .parquet            one a row; nested columns are metadata, dates and times in RFC 3339,
//	                              decimals with all their digits, bytes in base64
//	pdf       .pdf                one: the text of its pages with breaks between them; title, author,
//	                              description, pages. Scans have no text, encrypted ones are not read
//	image     .png .jpg .gif …    one: the image, for databases of images; its title is the name of the file
//	npy       .npy                one a row of a float32 or float64 array: a vector without a text
//	fbin      .fbin               the same; uint32 n, uint32 d, then n·d float32
//	fvecs     .fvecs              the same; each row an int32 d, then d float32
//	chromem   .gob .gob.gz        what chromem-go keeps or exports: its documents with their vectors; of an
//	                              export the collection is metadata. Encrypted ones are not read
//
// Texts are UTF-8, or UTF-16 with a byte order mark. Lines end in \n in the text.
// Dates of front matter are in RFC 3339 and UTC, those without a time of day are such as
// 2024-01-05, so that filters compare them. Cells of CSV that are written as
// numbers, true or false are in JSON have that type.
package files
