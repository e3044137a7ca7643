// Package proxy lets the programs of one run reach the hosts that they may, and nothing else. It
// is an HTTP proxy on a Unix socket (CONNECT, and plain HTTP with an absolute URI), the only way
// out of a sandbox without a network (specs/security.md).
//
// A name is looked up only after a pattern has allowed it, so that names carry nothing out; what is
// dialled is the very address that was checked. Addresses of this machine and of private networks
// are refused, whatever name leads to them, but for those that a person has written down as an
// address or with a port. What is refused is refused at once, with a sentence that names the
// setting: programs wait for half a minute when they are left without an answer. No TLS is opened.
package proxy
