// Command lexsem indexes texts and searches them with modulated queries.
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
