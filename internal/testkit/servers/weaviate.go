package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Weaviate starts nodes of a program that know each other, with files below dir, and waits until all answer. The first
// node founds the cluster alone and the others join it. If all tried to found it, they would receive each other's
// notices, which the server counts without a lock (Notify in its store_cluster_rpc.go, 1.35.2).
func Weaviate(ctx context.Context, program, dir string, nodes int) (Cluster, error) {
	const each = 8 // ports of a node: two of gossip, two of raft in a row, HTTP, gRPC, metrics, profiles
	first, err := FreePorts(each * nodes)
	if err != nil {
		return nil, err
	}
	port := func(i, k int) int { return first + each*i + k }
	var join []string
	for i := range nodes {
		join = append(join, fmt.Sprintf("weaviate-%d:%d", i, port(i, 2)))
	}
	var c Cluster
	for i := range nodes {
		p := func(k int) int { return port(i, k) }
		name := fmt.Sprint("weaviate-", i)
		n := &Node{Name: name, URL: fmt.Sprintf("http://127.0.0.1:%d", p(4)), Dir: filepath.Join(dir, name)}
		env := append(os.Environ(),
			"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "DEFAULT_VECTORIZER_MODULE=none", "ENABLE_MODULES=", "DISABLE_TELEMETRY=true",
			"PERSISTENCE_DATA_PATH="+n.Dir, "CLUSTER_HOSTNAME="+name, "CLUSTER_IN_LOCALHOST=true",
			"CLUSTER_ADVERTISE_ADDR=127.0.0.1", "CLUSTER_BIND_ADDR=127.0.0.1",
			fmt.Sprint("CLUSTER_GOSSIP_BIND_PORT=", p(0)), fmt.Sprint("CLUSTER_DATA_BIND_PORT=", p(1)),
			fmt.Sprint("RAFT_PORT=", p(2)), fmt.Sprint("RAFT_INTERNAL_RPC_PORT=", p(3)), "RAFT_JOIN="+strings.Join(join, ","), "RAFT_BOOTSTRAP_EXPECT=1",
			fmt.Sprint("GRPC_PORT=", p(5)), fmt.Sprint("PROMETHEUS_MONITORING_PORT=", p(6)), fmt.Sprint("GO_PROFILING_PORT=", p(7)), "GO_PROFILING_DISABLE=true",
			"LOG_LEVEL=warning", "GOMAXPROCS=2", "GOMEMLIMIT=600MiB", "DISK_USE_READONLY_PERCENTAGE=100", "DISK_USE_WARNING_PERCENTAGE=100",
			"REPLICATION_MINIMUM_FACTOR=1", "ASYNC_REPLICATION_FREQUENCY=3s", "ASYNC_REPLICATION_ALIVE_NODES_CHECKING_FREQUENCY=1s", "ASYNC_REPLICATION_PROPAGATION_DELAY=1s", "PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=1",
		)
		follow := func(k int) {
			env = append(env, fmt.Sprint("CLUSTER_JOIN=127.0.0.1:", port(k, 0)), fmt.Sprint("RAFT_BOOTSTRAP_EXPECT=", nodes))
		}
		if i > 0 {
			follow(0)
		}
		n.command = func() (*exec.Cmd, error) {
			cmd := exec.Command(program, "--host", "127.0.0.1", "--port", fmt.Sprint(p(4)), "--scheme", "http")
			cmd.Env, cmd.Dir = env, n.Dir
			return cmd, os.MkdirAll(n.Dir, 0o755)
		}
		n.ready = func() error { return answers(n.URL + "/v1/.well-known/ready") }
		if err := n.Start(); err != nil {
			return c.begun(ctx, err)
		}
		c = append(c, n)
		if i == 0 && nodes > 1 {
			if err := n.Ready(ctx, time.Minute); err != nil {
				return c.begun(ctx, err)
			}
			follow(1) // when it comes back
		}
	}
	return c.begun(ctx, nil)
}
