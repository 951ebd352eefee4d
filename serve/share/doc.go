// Package share lets several processes work with one database. One process at a time has a database open for
// writing: the server process, which a [Holder] describes. The others are its clients.
//
// Start with [Join]: it opens the database and shares it, or calls the server process, and takes its place
// when it ends. [Open] only calls a server process that is there. Both return a [Joined]: an engine.Database
// whose answers, errors and progress are those of an Engine in the same process.
//
// Each call of engine.Database is one entry in a call_*.go file: its name, whether it writes and may be repeated,
// the forms in which its values cross, and its method.
//
// What holds: clients are safe for concurrent use; each call has a connection of its own and ends with its
// context. Calls go over a socket in the folder of the database, from processes of the same user and root.
// (Where the system does not tell the user, which is all but Linux, macOS and the BSDs, the permissions of
// the folder decide.) A call that the server process does not answer is a *LostError. Programs whose calls
// differ refuse each other with a *ProtocolError. File frame.go has the frames.
package share
