// Package broker carries commands out of the run of an agent program: a client inside the run sends a
// command line over a Unix socket, and the server outside carries it out and sends back what it prints
// and its exit code. Whose run it is says the socket alone, one for each run. What a command is, the
// package does not know, and nothing on the way means something on one machine only.
//
// A connection carries one command. All of it are frames: version, kind, length, content. The client
// sends one request. From then on it sends only what the server asks for, one piece of stdin or of a
// file at a time: so nobody can flood the server, stdin stays where it is until a command reads it, and
// a file that a command names is opened by the client, with the rights and the paths of the run.
//
//   - Folder: where the sockets of a run are. MakeFolder, RemoveStale.
//   - Serve, Server.Close, Call, Handler: the side of the supervisor.
//   - Client.Do: the side of the run.
package broker
