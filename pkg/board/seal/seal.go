// Package seal keeps the key that seals the approvals of a project, and makes and checks seals (HMAC-SHA-256). The key is in
// the person's state folder, outside of the repository: the content of the repository alone cannot make a seal. A process
// with the rights of the person can read the key unless a sandbox hides the folder.
package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoFolder is returned when the person's state folder is unknown.
var ErrNoFolder = errors.New("cannot find the folder for keys: neither XDG_STATE_HOME nor HOME says where it is")

// A NoKeyError is returned when the key of a project is not in the person's state folder.
type NoKeyError struct{ ID, Folder string }

func (e *NoKeyError) Error() string {
	return fmt.Sprintf("cannot use the seals of this project: its key %s is not in %s, which HOME and XDG_STATE_HOME name", e.ID, e.Folder)
}

// Next returns the next command for a person.
func (e *NoKeyError) Next() string { return "liza validate --accept WHY" }

// Key makes and checks the seals of one project.
type Key struct {
	ID     string
	secret []byte
}

// Name returns the id of the key.
func (k *Key) Name() string { return k.ID }

// Ring holds the keys of a person, seen from one project. A key belongs to GitDir: a repository at another place has another
// key.
type Ring struct {
	Folder string // "" if unknown
	GitDir string
}

// file is the content of a key's file.
type file struct {
	GitDir string `json:"git_dir"`
	Secret string `json:"secret"`
}

// New returns the key with the given secret.
func New(secret []byte) *Key {
	sum := sha256.Sum256(secret)
	return &Key{ID: hex.EncodeToString(sum[:6]), secret: secret}
}

// Secret returns the secret of the key as text, for another host of the project; see Parse.
func (k *Key) Secret() string { return hex.EncodeToString(k.secret) }

// Sign returns the seal of the texts fields.
func (k *Key) Sign(fields ...string) string {
	return hex.EncodeToString(k.mac(fields))
}

// Fits reports whether mac is the seal of the texts fields.
func (k *Key) Fits(mac string, fields ...string) bool {
	given, err := hex.DecodeString(mac)
	return err == nil && hmac.Equal(given, k.mac(fields))
}

// mac puts the length before each text, so that no two lists have the same bytes.
func (k *Key) mac(fields []string) []byte {
	h := hmac.New(sha256.New, k.secret)
	var size [8]byte
	for _, f := range fields {
		binary.BigEndian.PutUint64(size[:], uint64(len(f)))
		h.Write(size[:])
		h.Write([]byte(f))
	}
	return h.Sum(nil)
}

// Key returns the project's key, or nil if there is none yet.
func (r Ring) Key() (*Key, error) {
	if r.Folder == "" {
		return nil, ErrNoFolder
	}
	k, _, err := read(r.path(r.place()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return k, err
}

// Make creates the project's key, or returns the key that another process has just created.
func (r Ring) Make() (*Key, error) {
	if r.Folder == "" {
		return nil, ErrNoFolder
	}
	secret := make([]byte, sha256.Size)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	err := r.put(file{GitDir: r.place(), Secret: hex.EncodeToString(secret)})
	if errors.Is(err, fs.ErrExist) {
		return r.Key()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep the key of this project: %w", err)
	}
	return New(secret), nil
}

// Named returns the secret of the first key of this person, for any repository, with one of the ids, or "".
func (r Ring) Named(ids ...string) string {
	paths, _ := filepath.Glob(filepath.Join(r.Folder, "keys", "*.json"))
	for _, id := range ids {
		for _, path := range paths {
			if k, f, err := read(path); err == nil && k.ID == id {
				return f.Secret
			}
		}
	}
	return ""
}

// Parse returns the key of a secret in the form of Key.Secret.
func Parse(text string) (*Key, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(secret) < sha256.Size {
		return nil, errors.New("it is not a key of approvals")
	}
	return New(secret), nil
}

// Take makes the key with the given secret, from another host, the project's key. It replaces any other.
func (r Ring) Take(secret string) error {
	if r.Folder == "" {
		return ErrNoFolder
	}
	path := r.path(r.place())
	if _, f, err := read(path); err == nil && f.Secret == secret {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot keep the key of this project: %w", err)
	}
	err := r.put(file{GitDir: r.place(), Secret: secret})
	if errors.Is(err, fs.ErrExist) { // another process took it
		if _, f, problem := read(path); problem == nil && f.Secret == secret {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("cannot keep the key of this project: %w", err)
	}
	return nil
}

// Moved returns the key with the given id if the repository that it belongs to no longer exists at
// its old place: the project was moved, and the key moves with it. copied reports that the old
// repository still exists, so that this one is a copy. Without such a key both are zero.
func (r Ring) Moved(id string) (k *Key, copied bool, err error) {
	if r.Folder == "" {
		return nil, false, ErrNoFolder
	}
	paths, _ := filepath.Glob(filepath.Join(r.Folder, "keys", "*.json"))
	for _, path := range paths {
		k, f, err := read(path)
		if err != nil || k.ID != id {
			continue
		}
		if _, err := os.Lstat(f.GitDir); !errors.Is(err, fs.ErrNotExist) {
			return nil, true, nil
		}
		f.GitDir = r.place()
		if err := r.put(f); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, false, fmt.Errorf("cannot keep the key of this project: %w", err)
		}
		_ = os.Remove(path) // it is kept at its new place
		return k, false, nil
	}
	return nil, false, nil
}

// put writes a key's file whole, unless there is one.
func (r Ring) put(f file) error {
	path := r.path(f.GitDir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(data, '\n'))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Link(temp.Name(), path) // unlike a rename it never replaces the key of another process
}

func (r Ring) place() string {
	if real, err := filepath.EvalSymlinks(r.GitDir); err == nil {
		return real
	}
	return r.GitDir
}

func (r Ring) path(place string) string {
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(r.Folder, "keys", hex.EncodeToString(sum[:12])+".json")
}

func read(path string) (*Key, file, error) {
	var f file
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, f, fmt.Errorf("cannot read the key of this project: %w", err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, f, fmt.Errorf("cannot read the key in %s: %v", path, err)
	}
	secret, err := hex.DecodeString(f.Secret)
	if err != nil || len(secret) < sha256.Size {
		return nil, f, fmt.Errorf("cannot read the key in %s: it is damaged", path)
	}
	return New(secret), f, nil
}

// Remove deletes the project's key.
func (r Ring) Remove() error {
	if r.Folder == "" {
		return nil
	}
	if err := os.Remove(r.path(r.place())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the key of this project: %w", err)
	}
	return nil
}
