package elastic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/servertest"
)

// node is a server of a cluster on loopback, of the distribution in the folder that
// LEXSEM_ELASTICSEARCH names; .ci/elastic fetches one.
type node struct {
	*servertest.Server
	url, dir string
}

var (
	one     sync.Once
	single  *node
	singles error
)

// server is the URL of a server with one node, the same for all tests of the package; TestMain
// ends it. The test is skipped where there is no distribution.
func server(t *testing.T) string {
	t.Helper()
	dist := distribution(t)
	one.Do(func() {
		dir, err := os.MkdirTemp("", "lexsem-elastic")
		if err != nil {
			singles = err
			return
		}
		port, err := servertest.FreePorts(2)
		if err != nil {
			singles = err
			return
		}
		if single, singles = startNode(dist, dir, "single", port, port+1, "discovery.type: single-node"); singles == nil {
			singles = single.answers(2 * time.Minute)
		}
	})
	if singles != nil {
		t.Fatal(singles)
	}
	return single.url
}

func distribution(t *testing.T) string {
	t.Helper()
	dist := os.Getenv("LEXSEM_ELASTICSEARCH")
	if dist == "" {
		t.Skip("LEXSEM_ELASTICSEARCH names no folder of an Elasticsearch; .ci/elastic fetches one")
	}
	return dist
}

func TestMain(m *testing.M) {
	code := m.Run()
	if single != nil {
		single.Kill()
		os.RemoveAll(filepath.Dir(single.dir))
	}
	os.Exit(code)
}

// startNode starts a server. Files go below dir; settings are lines of its elasticsearch.yml.
func startNode(dist, dir, name string, port, transport int, settings string) (*node, error) {
	dir = filepath.Join(dir, name)
	conf := filepath.Join(dir, "config")
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return nil, err
	}
	log4j, err := os.ReadFile(filepath.Join(dist, "config", "log4j2.properties"))
	if err != nil {
		return nil, fmt.Errorf("LEXSEM_ELASTICSEARCH: %w", err)
	}
	yml := fmt.Sprintf("cluster.name: lexsem-test-%d\nnode.name: %s\npath.data: %s/data\npath.logs: %s/logs\nnetwork.host: 127.0.0.1\nhttp.port: %d\ntransport.port: %d\nxpack.security.enabled: false\ncluster.routing.allocation.disk.threshold_enabled: false\n%s\n",
		os.Getpid(), name, dir, dir, port, transport, settings)
	for file, text := range map[string]string{
		"log4j2.properties": string(log4j), "elasticsearch.yml": yml,
		"jvm.options": "-Xms400m\n-Xmx400m\n-XX:+UseSerialGC\n-Djava.io.tmpdir=" + filepath.Join(dir, "tmp") + "\n",
	} {
		if _, err := os.Stat(filepath.Join(conf, file)); err == nil { // it starts again
			continue
		}
		if err := os.WriteFile(filepath.Join(conf, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(filepath.Join(dist, "bin", "elasticsearch"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ES_PATH_CONF="+conf, "HOME="+dir)
	if os.Getenv("ES_JAVA_HOME") == "" {
		cmd.Env = append(cmd.Env, "ES_JAVA_HOME="+os.Getenv("JAVA_HOME"))
		if java, err := exec.LookPath("java"); err == nil && os.Getenv("JAVA_HOME") == "" {
			if java, err = filepath.EvalSymlinks(java); err == nil {
				cmd.Env = append(cmd.Env, "ES_JAVA_HOME="+filepath.Dir(filepath.Dir(java)))
			}
		}
	}
	if err := servertest.Unprivileged(cmd, dir); err != nil {
		return nil, err
	}
	s, err := servertest.Start(name, filepath.Join(dir, "out"), cmd)
	return &node{s, fmt.Sprintf("http://127.0.0.1:%d", port), dir}, err
}

// answers waits until the server does.
func (n *node) answers(patience time.Duration) error {
	return n.Answers(n.url+"/_cluster/health?timeout=1s&wait_for_status=yellow", patience)
}

// getJSON reads what a URL answers.
func getJSON(url string, to any) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(to)
}
