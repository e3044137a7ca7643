// Package maintain looks at a project as it is and puts right what is provably safe: the examination of `liza doctor`,
// the rules of `liza validate` and its repair, the facts that alerts are made of, the garbage of `liza gc`, former
// states. It removes only what is proven to be merged or saved.
package maintain
