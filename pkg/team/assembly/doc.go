// Package assembly puts a process together: it finds the project, opens its board (a file or a database) and its repository
// with the settings of the moment, says who calls, contains what agents wrote, and raises alerts and notifications. Faces
// ask an Environment for a service and know nothing of the parts.
package assembly
