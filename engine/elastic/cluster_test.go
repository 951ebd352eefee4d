package elastic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// node is a server of a cluster on loopback, of the distribution in the folder that
// LEXSEM_ELASTICSEARCH names; .ci/elastic fetches one.
type node struct {
	name, url string
	cmd       *exec.Cmd
	ended     chan error
	log       string
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
		ports, err := freePorts(2)
		if err != nil {
			singles = err
			return
		}
		if single, singles = startNode(dist, dir, "single", ports[0], ports[1], "discovery.type: single-node"); singles == nil {
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
		single.kill()
		os.RemoveAll(filepath.Dir(single.log))
	}
	os.Exit(code)
}

// freePorts are ports of loopback that nobody uses.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
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
	n := &node{name: name, url: fmt.Sprintf("http://127.0.0.1:%d", port), ended: make(chan error, 1), log: filepath.Join(dir, "out")}
	n.cmd = exec.Command(filepath.Join(dist, "bin", "elasticsearch"))
	n.cmd.Dir = dir
	n.cmd.Env = append(os.Environ(), "ES_PATH_CONF="+conf, "HOME="+dir)
	if os.Getenv("ES_JAVA_HOME") == "" {
		n.cmd.Env = append(n.cmd.Env, "ES_JAVA_HOME="+os.Getenv("JAVA_HOME"))
		if java, err := exec.LookPath("java"); err == nil && os.Getenv("JAVA_HOME") == "" {
			if java, err = filepath.EvalSymlinks(java); err == nil {
				n.cmd.Env = append(n.cmd.Env, "ES_JAVA_HOME="+filepath.Dir(filepath.Dir(java)))
			}
		}
	}
	if err := unprivileged(n.cmd, dir); err != nil {
		return nil, err
	}
	out, err := os.Create(n.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	n.cmd.Stdout, n.cmd.Stderr = out, out
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { n.ended <- n.cmd.Wait() }()
	return n, nil
}

// answers waits until the server does.
func (n *node) answers(patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		res, err := http.Get(n.url + "/_cluster/health?timeout=1s&wait_for_status=yellow")
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-n.ended:
			n.ended <- err
			log, _ := os.ReadFile(n.log)
			return fmt.Errorf("%s ended: %v\n%s", n.name, err, tail(log))
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(n.log)
			return fmt.Errorf("%s does not answer: %w\n%s", n.name, errors.Join(err, context.DeadlineExceeded), tail(log))
		}
	}
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

func tail(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
