// Package yamldoc keeps a YAML file in segments: who changes one keeps the bytes of
// all others. It knows nothing of what the file says.
//
// A Document has one part for each top-level section and, inside the sections that the
// Reader is told to take apart, one for each entry of the list or map. Each part is
// parsed and decoded once; a Reader that parses the next version of the file takes over
// what has the same bytes. Where the layout of a file does not let it be cut safely
// (flow style at the top, anchors, tabs, odd line ends …) the whole file is one part;
// what can be done with the Document is the same, and so is the result.
//
// A piece in plain block style need not become a tree at all: a Fast reads it straight into
// a Go value, some twenty times as quickly as the YAML library, and leaves everything that
// it does not know to the library.
//
// Changes are made on yaml.Node trees: Patch compares two Go values and applies the
// difference, so that comments, key order, quoting and unknown keys of all that is equal
// survive. Then only the lines of what differs are rewritten. Every text that was
// written is parsed again and compared with the tree before anybody sees it.
//
//	r := yamldoc.Reader{Split: []string{"tasks"}, Decode: decodeTask}
//	doc, err := r.Parse(data) // *SyntaxError
//	edit := doc.Edit()
//	edit.Patch("revision", 41, 42)
//	doc, err = edit.Apply()
//	os.Stdout.Write(doc.Bytes())
//
// Merge3 puts what one side changed into what the other made of the same version.
//
// In the Go values null, an absent key, "" and [] are the same value.
package yamldoc
