// Package load measures a database over its life: Run takes the times and sizes of its operations, and
// Soak works on one for hours and checks that nothing grows and nothing is lost. "lexsem bench engine"
// and "lexsem bench soak" are their commands.
package load
