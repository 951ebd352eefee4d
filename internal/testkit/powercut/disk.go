//go:build linux

// Package powercut shows tests the possible content of a disk after a power cut. Start with [MountFor]: a
// Disk is a file system in memory, mounted by FUSE, that records all writes and syncs in order. [Disk.Cuts]
// makes, for random moments, a folder with everything that was synced by then and some of the rest.
package powercut

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Disk is mounted until Unmount. The process that mounts it must not use it; other processes do.
type Disk struct {
	server *fuse.Server

	mu   sync.Mutex // guards what follows, and all nodes
	log  []op
	last int // id given to a node
}

// Mount mounts an empty disk at a folder. This needs the right to mount.
func Mount(dir string) (*Disk, error) {
	d := &Disk{}
	root := &node{disk: d, folder: true}
	server, err := fs.Mount(dir, root, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, FsName: "powercut", Name: "powercut", DisableXAttrs: true,
	}})
	if err != nil {
		return nil, err
	}
	d.server = server
	return d, nil
}

// Unmount ends the disk, once no process has a file of it open. Its Replay remains.
func (d *Disk) Unmount() error { return d.server.Unmount() }

const markPrefix = "powercut-mark:"

// Mark writes a text into the log of the disk that is mounted at a folder, after all earlier operations of
// the calling process.
func Mark(mount, text string) {
	os.Lstat(filepath.Join(mount, markPrefix+text)) // there is no such file; that it was asked for is logged
}

// opKind is the kind of an op.
type opKind int

const (
	opMake   opKind = iota // name in dir is the new node id
	opRemove               // name in dir is gone
	opRename               // name in dir is now to in toDir
	opWrite                // data at off in node id
	opSize                 // node id is off long
	opSync                 // of node id
	opMark                 // name is what a process said
)

// op is one operation on the disk.
type op struct {
	kind     opKind
	id       int
	dir      int
	name, to string
	toDir    int
	off      int64
	data     []byte
	folder   bool
}

// node is a file or a folder as the processes see it.
type node struct {
	fs.Inode
	disk   *Disk
	id     int // 0 is the root
	folder bool
	file   contents
}

var written = uint64(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Unix()) // of all files: the kernel drops pages when it changes

func (n *node) attr(out *fuse.Attr) {
	out.Mode, out.Nlink, out.Mtime, out.Ctime, out.Blksize = syscall.S_IFREG|0o644, 1, written, written, pageSize
	if n.folder {
		out.Mode = syscall.S_IFDIR | 0o755
		return
	}
	out.Size, out.Blocks = uint64(n.file.size), uint64(len(n.file.pages))*pageSize/512
}

// do logs an op.
func (d *Disk) do(o op) { d.log = append(d.log, o) }

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.attr(&out.Attr)
	return 0
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		n.resize(int64(size))
	}
	n.attr(&out.Attr)
	return 0
}

func (n *node) resize(size int64) {
	n.disk.do(op{kind: opSize, id: n.id, off: size})
	n.file.resize(size)
}

func (n *node) Lookup(_ context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if text, ok := strings.CutPrefix(name, markPrefix); ok {
		n.disk.do(op{kind: opMark, name: text})
		return nil, syscall.ENOENT
	}
	child := n.GetChild(name)
	if child == nil {
		return nil, syscall.ENOENT
	}
	child.Operations().(*node).attr(&out.Attr)
	return child, 0
}

// add makes a child.
func (n *node) add(ctx context.Context, name string, folder bool, out *fuse.EntryOut) *fs.Inode {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.last++
	child := &node{disk: n.disk, id: n.disk.last, folder: folder}
	n.disk.do(op{kind: opMake, id: child.id, dir: n.id, name: name, folder: folder})
	child.attr(&out.Attr)
	return n.NewPersistentInode(ctx, child, fs.StableAttr{Mode: out.Attr.Mode, Ino: uint64(child.id) + 1})
}

func (n *node) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, true, out), 0
}

func (n *node) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return n.add(ctx, name, false, out), nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.do(op{kind: opRemove, dir: n.id, name: name})
	return 0
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	child := n.GetChild(name)
	if child == nil {
		return syscall.ENOENT
	}
	if len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	n.disk.do(op{kind: opRemove, dir: n.id, name: name})
	return 0
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, toName string, _ uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.do(op{kind: opRename, dir: n.id, name: name, toDir: to.(*node).id, to: toName})
	return 0
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		n.disk.mu.Lock()
		defer n.disk.mu.Unlock()
		n.resize(0)
	}
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	return fuse.ReadResultData(dest[:n.file.read(dest, off)]), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.do(op{kind: opWrite, id: n.id, off: off, data: append([]byte(nil), data...)})
	n.file.write(data, off)
	return uint32(len(data)), 0
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.do(op{kind: opSync, id: n.id})
	return 0
}

func (n *node) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<21, 1<<20, 1<<20 // 4 GiB free
	return 0
}
