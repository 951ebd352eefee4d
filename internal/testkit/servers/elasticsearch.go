package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Elasticsearch starts a cluster of a distribution, with files below dir, and waits until its nodes answer. If several
// nodes have data, the first returned node has none; as master, it assigns the data to the others.
func Elasticsearch(ctx context.Context, distribution, dir string, data int) (Cluster, error) {
	log4j, err := os.ReadFile(filepath.Join(distribution, "config", "log4j2.properties"))
	if err != nil {
		return nil, fmt.Errorf("the distribution of Elasticsearch: %w", err)
	}
	settings := []string{"discovery.type: single-node"}
	first, err := FreePorts(2 * (data + 1))
	if err != nil {
		return nil, err
	}
	if data > 1 {
		seed := fmt.Sprintf("discovery.seed_hosts: [\"127.0.0.1:%d\"]\n", first+1)
		settings = []string{seed + "node.roles: [master]\ncluster.initial_master_nodes: [node0]"}
		for range data {
			settings = append(settings, seed+"node.roles: [data]")
		}
	}
	var c Cluster
	for i, lines := range settings {
		name := fmt.Sprint("node", i)
		n := &Node{Name: name, Dir: filepath.Join(dir, name), URL: fmt.Sprintf("http://127.0.0.1:%d", first+2*i)}
		n.command = func() (*exec.Cmd, error) { return elasticsearch(distribution, n.Dir) }
		n.ready = func() error { return answers(n.URL + "/_cluster/health?timeout=1s&wait_for_status=yellow") }
		yml := fmt.Sprintf("cluster.name: lexsem-test-%d\nnode.name: %s\npath.data: %s/data\npath.logs: %s/logs\nnetwork.host: 127.0.0.1\nhttp.port: %d\ntransport.port: %d\nxpack.security.enabled: false\ncluster.routing.allocation.disk.threshold_enabled: false\n%s\n",
			os.Getpid(), name, n.Dir, n.Dir, first+2*i, first+2*i+1, lines)
		if err = configured(n.Dir, string(log4j), yml); err == nil {
			err = n.Start()
		}
		if err != nil {
			break
		}
		c = append(c, n)
	}
	return c.begun(ctx, err)
}

// configured writes the settings of a node.
func configured(dir, log4j, yml string) error {
	conf := filepath.Join(dir, "config")
	for _, d := range []string{conf, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for file, text := range map[string]string{
		"log4j2.properties": log4j, "elasticsearch.yml": yml,
		"jvm.options": "-Xms400m\n-Xmx400m\n-XX:+UseSerialGC\n-Djava.io.tmpdir=" + filepath.Join(dir, "tmp") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(conf, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func elasticsearch(distribution, dir string) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(distribution, "bin", "elasticsearch"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ES_PATH_CONF="+filepath.Join(dir, "config"), "HOME="+dir)
	if os.Getenv("ES_JAVA_HOME") == "" {
		cmd.Env = append(cmd.Env, "ES_JAVA_HOME="+os.Getenv("JAVA_HOME"))
		if java, err := exec.LookPath("java"); err == nil && os.Getenv("JAVA_HOME") == "" {
			if java, err = filepath.EvalSymlinks(java); err == nil {
				cmd.Env = append(cmd.Env, "ES_JAVA_HOME="+filepath.Dir(filepath.Dir(java)))
			}
		}
	}
	return cmd, Unprivileged(cmd, dir)
}
