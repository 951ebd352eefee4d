// Package parallel does equal pieces of work on all cores.
package parallel
