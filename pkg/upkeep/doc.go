// Package upkeep looks at what crashes, hand edits and time leave, and puts it right: the examination of `liza doctor`,
// the garbage of `liza gc`, former states. It removes only what is proven to be merged or saved.
package upkeep
