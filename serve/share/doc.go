// Package share lets several processes work with one database. One process at a time has a database open for
// writing: the server process, which a [Holder] describes. The others are its clients.
//
// Start with [Join]: it opens the database and shares it, or connects to the server process. When that
// process ends, it takes its place. [Open] only connects to an existing server process. Both return a
// [Joined]: an engine.Database with the same answers, errors and progress as an Engine in the same process.
//
// Each call of engine.Database is one entry in a call_*.go file: its name, whether it writes and may be repeated,
// the forms of its values, and its method.
//
// What holds: clients are safe for concurrent use; each call has its own connection and ends with its
// context. Calls go over a socket in the folder of the database, from processes of the same user and root.
// (Only Linux, macOS and the BSDs identify the user; on other systems the permissions of the folder decide.)
// A call that the server process does not answer is a *LostError. Programs whose calls differ refuse each
// other with a *ProtocolError. File frame.go defines the frames.
package share
