// Package skill reads the skills that people have installed under .liza/skills, checks the
// arguments of a task against them, and tells the planner about them (specs/roles-and-knowledge.md#9.3).
//
// A skill is a folder with a manifest skill.yaml and a program. It is read again for each planner
// run and each start, so that nothing has to be restarted. A manifest that is broken takes only
// its own skill away. Starting the program is the supervisor's.
package skill
