// Command lexsem indexes texts and files, searches them, serves them over HTTP and MCP, and measures
// retrieval. `lexsem help` lists its commands. All of them are in package internal/command.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/lexsem/lexsem/cmd/lexsem/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(command.Run(ctx, command.System()))
}
