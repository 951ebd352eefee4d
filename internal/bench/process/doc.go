// Package process measures this process: its processor time, memory and files.
package process
