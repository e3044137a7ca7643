// Package dashboard is what a person looks at.
//
// Build makes a View of a state: goal, sprint, tasks, agents, what waits for a person and
// what is wrong. Text draws it for a terminal, and its JSON tags are what --json prints.
// Graph, TaskText, PlanText and LogLine draw the other looks. All of them are pure: time
// and facts about processes are arguments, nothing is changed, and a state that a person
// has edited into something strange is shown, never a reason to panic.
//
// Texts from outside (titles, reasons, questions) lose their control characters before
// they reach a terminal, and are cut by what they take on it, not by bytes.
package dashboard
