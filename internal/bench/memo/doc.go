// Package memo keeps encodings: of queries in memory for a run, and all of them in a folder for the next run.
package memo
