package client

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	greetWithin, frameWithin = time.Second, time.Second
	os.Exit(m.Run())
}
