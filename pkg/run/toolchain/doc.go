// Package toolchain knows what the tools of languages need where a run is contained: the folders
// that they are installed in, the caches that take the place of the person's, and the hosts of
// their packages.
//
// A cache that a run may write poisons the builds of all who share it, and a build without one
// takes minutes. So runs have caches of the project's own; what the person has downloaded is read
// only, where the tool can use it in that way. The table is data; In is a pure function of it, of the
// person's environment and of what is on the disk.
package toolchain
