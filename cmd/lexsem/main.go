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
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(command.Run(ctx, command.System()))
}
