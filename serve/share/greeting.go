package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// Holder describes the process that has a database open: the server process.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`           // as its user would know it, "lexsem index"
	Version string    `json:"version,omitempty"` // of the program
	Model   string    `json:"model,omitempty"`   // name of the encoder it has open; "" for none
	Since   time.Time `json:"since"`
}

// String is "process 12 (lexsem index)".
func (h Holder) String() string {
	if h.Command == "" {
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("process %d (%s)", h.PID, h.Command)
}

// A greeting is one line: magic, the number of the protocol, and JSON. It is the same in all versions
// of the protocol, so that a program can name the other version.
const (
	magic       = "lexsem "
	protocol    = 1
	maxGreeting = 4096
)

type greeting struct {
	Shape  string  `json:"shape"` // digest of what calls take and give
	Holder *Holder `json:"holder,omitempty"`
}

// ProtocolError reports that the server process runs another version of the program with other calls.
// errors.Is(err, engine.ErrLocked) holds.
type ProtocolError struct {
	Dir    string
	Holder Holder // as far as it said
}

// Error names the holder and the remedy.
func (e *ProtocolError) Error() string {
	who := "another program"
	if e.Holder.PID != 0 {
		who = e.Holder.String()
	}
	v := ""
	if e.Holder.Version != "" {
		v = " " + e.Holder.Version
	}
	return fmt.Sprintf("database %s is in use by %s of another version%s, and this version cannot talk to it; close it there, or use the same version", e.Dir, who, v)
}

// Unwrap lets errors.Is(err, engine.ErrLocked) hold.
func (e *ProtocolError) Unwrap() error { return engine.ErrLocked }

func writeGreeting(w io.Writer, h *Holder) error {
	raw, err := json.Marshal(greeting{Shape: shape(), Holder: h})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%d %s\n", magic, protocol, raw)
	return err
}

// errOther means that a greeting has another protocol.
var errOther = errors.New("another version of the protocol")

// readGreeting reads no byte beyond the line. With errOther the greeting has the parts that could be
// read.
func readGreeting(r io.Reader) (g greeting, err error) {
	line := make([]byte, 0, 256)
	for {
		var b [1]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return g, err
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
		if len(line) > maxGreeting || len(line) <= len(magic) && !strings.HasPrefix(magic, string(line)) {
			return g, errProtocol
		}
	}
	rest, ok := bytes.CutPrefix(line, []byte(magic))
	number, raw, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok || !ok2 {
		return g, errProtocol
	}
	err = json.Unmarshal(raw, &g)
	if string(number) != fmt.Sprint(protocol) {
		return g, errOther
	}
	if err != nil {
		return g, errProtocol
	}
	if g.Shape != shape() {
		return g, errOther
	}
	return g, nil
}

// self describes this process.
func self(command, model string) Holder {
	if command == "" {
		command = filepath.Base(os.Args[0])
	}
	clip := func(s string) string { return strings.ToValidUTF8(s[:min(len(s), 200)], "?") }
	return Holder{PID: os.Getpid(), Command: clip(command), Version: clip(version()), Model: clip(model), Since: time.Now().UTC().Truncate(time.Second)}
}

var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
})
