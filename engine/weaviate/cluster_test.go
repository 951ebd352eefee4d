package weaviate_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/servertest"
)

// node is a server of a cluster on loopback, of the program that LEXSEM_WEAVIATE names;
// .ci/weaviate builds one.
type node struct {
	*servertest.Server // that runs, or was killed
	name, url, dir     string
	args, env          []string
}

func program(t *testing.T) string {
	t.Helper()
	p := os.Getenv("LEXSEM_WEAVIATE")
	if p == "" {
		t.Skip("LEXSEM_WEAVIATE names no Weaviate server; .ci/weaviate builds one")
	}
	return p
}

var (
	one     sync.Once
	single  []*node
	singles error
)

// server is the URL of a server with one node, the same for all tests of the package, which
// TestMain ends.
func server(t *testing.T) string {
	t.Helper()
	p := program(t)
	one.Do(func() {
		var dir string
		if dir, singles = os.MkdirTemp("", "lexsem-weaviate"); singles == nil {
			single, singles = startCluster(p, dir, 1)
		}
	})
	if singles != nil {
		t.Fatal(singles)
	}
	return single[0].url
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, n := range single {
		n.Kill()
		os.RemoveAll(filepath.Dir(n.dir))
	}
	os.Exit(code)
}

// startCluster starts n nodes that know each other and waits until all answer.
func startCluster(program, dir string, n int) (nodes []*node, err error) {
	const each = 8 // ports of a node: two of gossip, two of raft in a row, HTTP, gRPC, metrics, profiles
	first, err := servertest.FreePorts(each * n)
	if err != nil {
		return nil, err
	}
	port := func(i, k int) int { return first + each*i + k }
	var join []string
	for i := range n {
		join = append(join, fmt.Sprintf("weaviate-%d:%d", i, port(i, 2)))
	}
	for i := range n {
		p := func(k int) int { return port(i, k) }
		w := &node{name: fmt.Sprint("weaviate-", i), url: fmt.Sprintf("http://127.0.0.1:%d", p(4)), dir: filepath.Join(dir, fmt.Sprint("weaviate-", i))}
		w.args = []string{program, "--host", "127.0.0.1", "--port", fmt.Sprint(p(4)), "--scheme", "http"}
		w.env = append(os.Environ(),
			"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "DEFAULT_VECTORIZER_MODULE=none", "ENABLE_MODULES=", "DISABLE_TELEMETRY=true",
			"PERSISTENCE_DATA_PATH="+w.dir, "CLUSTER_HOSTNAME="+w.name, "CLUSTER_IN_LOCALHOST=true",
			"CLUSTER_ADVERTISE_ADDR=127.0.0.1", "CLUSTER_BIND_ADDR=127.0.0.1",
			fmt.Sprint("CLUSTER_GOSSIP_BIND_PORT=", p(0)), fmt.Sprint("CLUSTER_DATA_BIND_PORT=", p(1)),
			fmt.Sprint("RAFT_PORT=", p(2)), fmt.Sprint("RAFT_INTERNAL_RPC_PORT=", p(3)), "RAFT_JOIN="+strings.Join(join, ","), fmt.Sprint("RAFT_BOOTSTRAP_EXPECT=", n),
			fmt.Sprint("GRPC_PORT=", p(5)), fmt.Sprint("PROMETHEUS_MONITORING_PORT=", p(6)), fmt.Sprint("GO_PROFILING_PORT=", p(7)), "GO_PROFILING_DISABLE=true",
			"LOG_LEVEL=warning", "GOMAXPROCS=2", "GOMEMLIMIT=600MiB", "DISK_USE_READONLY_PERCENTAGE=100", "DISK_USE_WARNING_PERCENTAGE=100",
			"REPLICATION_MINIMUM_FACTOR=1", "ASYNC_REPLICATION_FREQUENCY=3s", "ASYNC_REPLICATION_ALIVE_NODES_CHECKING_FREQUENCY=1s", "ASYNC_REPLICATION_PROPAGATION_DELAY=1s", "PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=1",
		)
		join := func(other int) string { return fmt.Sprint("CLUSTER_JOIN=127.0.0.1:", port(other, 0)) }
		if i > 0 {
			w.env = append(w.env, join(0))
		}
		if err := w.start(); err != nil {
			return nil, err
		}
		if i == 0 && n > 1 { // the first has nobody to join, but when it comes back
			w.env = append(w.env, join(1))
		}
		nodes = append(nodes, w)
		// A node that finds nobody to join does not try again.
		gossip := fmt.Sprint("127.0.0.1:", port(i, 0))
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if c, err := net.Dial("tcp", gossip); err == nil {
				c.Close()
				break
			}
		}
	}
	for _, w := range nodes {
		if err := w.answers(2 * time.Minute); err != nil {
			for _, w := range nodes {
				w.Kill()
			}
			return nil, err
		}
	}
	return nodes, nil
}

func (n *node) start() error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command(n.args[0], n.args[1:]...)
	cmd.Env, cmd.Dir = n.env, n.dir
	s, err := servertest.Start(n.name, n.dir+".log", cmd)
	if err != nil {
		return fmt.Errorf("LEXSEM_WEAVIATE: %w", err)
	}
	n.Server = s
	return nil
}

// answers waits until the server does.
func (n *node) answers(patience time.Duration) error {
	return n.Answers(n.url+"/v1/.well-known/ready", patience)
}
