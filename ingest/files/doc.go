// Package files reads the documents of a file. Start with [KindOf], which returns the kind of a file from
// its name, and [Read], which yields the documents one after the other.
//
//	kind      names               documents
//	markdown  .md .markdown .mdx  one; title and metadata of the front matter (YAML, TOML), else
//	                              the title is the first heading; breaks at headings
//	text      .txt .log README …  one. Of .org .rst .adoc .tex also title, author and date; breaks
//	                              at headings. Of .tex letters such as \'e as é. Of a log over 2 MiB
//	                              its beginning and its end
//	html      .html .htm .xhtml   one: the article, or the whole page where there is none; language,
//	                              description, author, published; breaks at headings
//	code      .go .py Makefile …  one; language; breaks at declarations (Go), else after blank lines.
//	                              Of files without an extension scripts, which begin with #!
//	jsonl     .jsonl .ndjson      one a line, or as json; other fields are metadata, NaN is null. Also
//	                              dumps of Qdrant, Chroma and LangChain
//	json      .json               one an object: a single object, an array, the array "documents"
//	                              of an object, or objects one after the other; fields as in jsonl
//	                              A record without a text, such as a conversation that ChatGPT
//	                              exports, has the texts of the objects within it
//	csv, tsv  .csv .tsv           one a row below the header; cells are apart by , ; | or tabs; other
//	                              columns are metadata, of one type each unless the table is a stream.
//	                              Without a column of texts, all columns of words are the text, too,
//	                              unless the table is a stream
//	docx odt rtf                  one; title, author, created; breaks at headings, tables as rows, notes,
//	                              comments of docx and odt; headers and footers, once, at the end. A
//	                              .doc is read if it is RTF, HTML, MIME, text or docx; not the binary one
//	pptx odp                      one, with the notes of speakers; breaks at slides
//	xlsx ods                      one; a row a line, with tabs between cells; breaks at sheets; comments of xlsx
//	epub                          one; title, author, language; breaks at chapters and headings
//	ipynb                         one; breaks at headings; the first 4 KiB of each cell's outputs
//	eml       .eml .mht .mhtml    one; the title is the subject; from, to, cc, date, message_id, attachments.
//	                              Plain text rather than HTML; of attachments text and messages alone
//	mbox                          one a message, with the id of the message; otherwise as eml
//	image     .png .jpg .gif …    one, for databases of images; the title is the file's name
//	npy fbin fvecs                one a row: a vector without a text
//	chromem   .gob .gob.gz        the documents of chromem-go with their vectors; not encrypted ones
//
// Two kinds need large libraries. A program reads them if it imports their packages, as the lexsem command does:
//
//	import (
//		_ "github.com/lexsem/lexsem/ingest/files/parquet"
//		_ "github.com/lexsem/lexsem/ingest/files/pdf"
//	)
//
//	parquet   .parquet            one a row; other columns are metadata, dates in RFC 3339
//	pdf       .pdf                one: the text of its pages; title, author, description, pages.
//	                              Not scans, which have no text, nor encrypted files
//
// Alternative texts of images in html, docx, odt, pptx, odp, epub and mail are part of the text.
//
// [Register] adds your own kind.
//
// A .gz file is read like its content, up to a size limit: notes.md.gz is of kind markdown. Records of more than
// Options.MaxBytes are read as a stream.
//
// Texts are UTF-8, UTF-16, UTF-32 or of an older encoding, which is recognised. If a part of a file besides its text,
// such as front matter, cannot be read, the file is read with a warning (Options.Warn). Dates of front matter become
// RFC 3339 in UTC; dates without a time stay as they are, such as 2024-01-05. Memory is bounded by one document, and
// the expanded content of an archive by four times Options.MaxBytes; longer files are cut with a warning. A damaged
// record is a *RecordError with its line, and the loop may continue. In a damaged file, the text before the damage is
// read, and the text after it if the kind allows; the damage is reported. Read is as safe for concurrent use as its
// reader.
package files
