package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Address says where a board is, as people write it: postgres://USER@HOST/DATABASE/BOARD, with the parameters of libpq
// behind a question mark.
type Address struct {
	URL   string // of the database
	Board string // "": not said
}

// An AddressError says that an address cannot be used.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return "cannot use the address of the store: " + e.Reason }

// ParseAddress reads an address. One with a password is refused: it would be seen in process lists and in config.yaml.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return Address{}, &AddressError{bad.Err.Error()} // without the address: it may have a password
	case err != nil:
		return Address{}, &AddressError{"it is not a URL"}
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return Address{}, &AddressError{"it must begin with postgres://"}
	}
	for _, secret := range []string{"password", "sslpassword"} {
		if u.Query().Has(secret) {
			return Address{}, errPassword
		}
	}
	if _, has := u.User.Password(); has {
		return Address{}, errPassword
	}
	database, board, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if board != "" {
		if err := CheckBoard(board); err != nil {
			return Address{}, err
		}
	}
	u.Path = ""
	if database != "" {
		u.Path = "/" + database
	}
	return Address{URL: u.String(), Board: board}, nil
}

var errPassword = &AddressError{"it has a password, which others would see; put it into ~/.pgpass, a service file or the variable PGPASSWORD"}

func (a Address) String() string {
	u, err := url.Parse(a.URL)
	if err != nil || a.Board == "" {
		return a.URL
	}
	if u.Path == "" { // the database that libpq takes
		u.Path = "/"
	}
	u.Path += "/" + a.Board
	return u.String()
}

const longestName = 60

// CheckBoard refuses what cannot be the name of a board.
func CheckBoard(name string) error {
	ok := name != "" && len(name) <= longestName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && !strings.HasPrefix(name, "-")
	if !ok {
		return &AddressError{fmt.Sprintf("'%s' is not a valid name of a board: lower-case letters, digits, - and _, at most %d", name, longestName)}
	}
	return nil
}

// BoardName makes a name of a board from a text.
func BoardName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := ""
	for _, w := range words {
		if len(name)+len(w) >= 40 {
			break
		}
		name = strings.TrimPrefix(name+"-"+w, "-")
	}
	return name
}
