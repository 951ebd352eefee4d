// Package share lets several processes work with one database.
//
// A database is open for writing in one process at a time, its holder. A holder that
// calls Share answers the calls of engine.Database over a socket in the database's
// folder. Open talks to it: a Client is an engine.Database, and what it returns, its
// errors and its progress are those of an Engine in the same process. Join does
// whichever is possible: it opens the database, shares it, or talks to who has it, and
// goes on by itself when that one ends.
//
// Who may: processes of the holder's user, and root. Where the system does not tell
// whose process a peer is (all but Linux, macOS and the BSDs) the permissions of the
// socket decide, which are those of the folder.
//
// Wire: format.md has the greeting and the frames. Programs whose calls differ refuse
// each other with a *ProtocolError.
package share
