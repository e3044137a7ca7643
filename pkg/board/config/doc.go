// Package config holds the settings of a project: the built-in defaults, the file
// .liza/config.yaml (or config.json) and the LIZA_ variables of the environment, in
// this order (specs/roles-and-knowledge.md#10).
//
// Load is for anyone who changes something: it reports every defect of the file and
// the environment at once and then returns no Config. LoadTolerant is for reading
// commands: it always returns one and turns each defect into a warning. Origin says
// where an effective value comes from.
//
// The struct types are the schema. A field's tags are its name in the file (key),
// what its value must be (is), and the unit that a duration has in the file (unit);
// a map tagged closed has no other names than those of its default.
//
// The package knows no command line and no blackboard. Settings, Overrides and
// Initial translate to the names of state.yaml's section config (specs/protocol.md#2.8).
package config
