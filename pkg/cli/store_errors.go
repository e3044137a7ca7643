package cli

import (
	"errors"

	"liza/pkg/store/postgres"
)

// unreachable is the exit code of a command that could not reach the database of the board.
const unreachable = 8

// explainDatabase is the exit code of an error of a board in a database, and the command that helps; 0 for any other error.
func explainDatabase(err error) (code int, next string) {
	if x, ok := errors.AsType[*postgres.UnreachableError](err); ok {
		return unreachable, x.Next()
	} else if x, ok := errors.AsType[*postgres.UncertainError](err); ok {
		return 9, x.Next()
	} else if _, ok := errors.AsType[*postgres.AddressError](err); ok {
		return 2, "liza help init"
	} else if x, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.NoBoardError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.ArrivingError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.ExistsError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.PermissionError](err); ok {
		return 4, x.Next()
	}
	return 0, ""
}
