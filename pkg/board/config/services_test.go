package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestAServiceThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"services: [db]":                                                "a map",
		"services: {db: postgres}":                                      "a map with the keys command",
		"services: {db: {}}":                                            "a map with the key command",
		"services: {db: {command: []}}":                                 "a map with the key command",
		"services: {db: {command: postgres -D x}}":                      "a list of strings",
		"services: {db: {command: [a, $HOME]}}":                         "$DATA, $RUN, $TREE",
		"services: {db: {command: [a, 'cost: 3$']}}":                    "$DATA, $RUN, $TREE",
		"services: {db: {command: [a, '${DATA']}}":                      "$DATA, $RUN, $TREE",
		"services: {db: {command: [a], init: [b, $PWD]}}":               "$DATA, $RUN, $TREE",
		"services: {db: {command: [a], ready: [b, $data]}}":             "$DATA, $RUN, $TREE",
		"services: {db: {command: [a], env: {URL: $HOST}}}":             "$DATA, $RUN, $TREE",
		"services: {db: {command: [a], env: {A B: x}}}":                 "variables in env",
		"services: {db: {command: [a], env: {LIZA_RUN: x}}}":            "variables in env",
		"services: {db: {command: [a], seed: [/etc/x]}}":                "a glob of paths in the project",
		"services: {db: {command: [a], ready_seconds: 601}}":            "a whole number from 0 to 600",
		"services: {../db: {command: [a]}}":                             "a name of small letters",
		"services: {Db: {command: [a]}}":                                "a name of small letters",
		"services: {abcdefghijklmnopqrstuvwxyz1234567: {command: [a]}}": "a name of small letters",
	} {
		_, _, err := Load(folder(t, "config.yaml", text), nil)
		var wrong *ValueError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Expected, want) || wrong.Line != 1 {
			t.Errorf("%s: %v, want that %q is expected, in line 1", text, err, want)
		}
	}
}

func TestAServiceHasWhatTheFileSays(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "config.yaml", `
services:
  db: {command: [postgres, -D, $DATA], init: [scripts/make-db], seed: ["db/**"], ready: [pg_isready, -h, "${RUN}"], ready_seconds: 9, env: {URL: "x?host=$RUN&p=$$1"}}
  cache: {command: [redis-server]}
`))
	want := Services{
		"db": {Command: []string{"postgres", "-D", "$DATA"}, Init: []string{"scripts/make-db"}, Seed: []string{"db/**"}, Ready: []string{"pg_isready", "-h", "${RUN}"}, ReadySeconds: 9,
			Env: Names{"URL": "x?host=$RUN&p=$$1"}},
		"cache": {Command: []string{"redis-server"}},
	}
	if !reflect.DeepEqual(cfg.Services, want) {
		t.Errorf("got %+v\nwant %+v", cfg.Services, want)
	}
}

func TestResolveReplacesItsNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	names := map[string]string{"DATA": "/d", "RUN": "/r $DATA"}
	for text, want := range map[string][2]string{
		"":                       {"", ""},
		"$DATA/x ${DATA}y":       {"/d/x /dy", ""},
		"$RUN":                   {"/r $DATA", ""}, // a value is not resolved again
		"$$DATA $$$DATA":         {"$DATA $/d", ""},
		"~/x * `id` $(id)":       {"~/x * `id` (id)", "$"},
		"$DATABASE":              {"", "$DATABASE"},
		"a$":                     {"a", "$"},
		"${DATA":                 {"{DATA", "$"},
		"$1":                     {"1", "$"},
		"${NAME} and $OTHER end": {" and  end", "${NAME}"},
	} {
		out, unknown := Resolve(text, names)
		if out != want[0] || unknown != want[1] {
			t.Errorf("Resolve(%q) = %q, %q; want %q, %q", text, out, unknown, want[0], want[1])
		}
	}
}
