package postgres

import "strings"

// Roles is the SQL that gives people and programs what they need of the tables and nothing more: a role for supervisors and
// commands, and one that only looks, through the views.
func Roles(database string) string {
	if database == "" {
		database = "liza"
	}
	return strings.ReplaceAll(roles, ":db", database)
}

const roles = `-- The owner of the schema: it alone makes the tables and brings them up to date (liza store upgrade).
CREATE ROLE liza_owner LOGIN;
GRANT CREATE, CONNECT ON DATABASE :db TO liza_owner;

-- Hosts of boards: supervisors and commands. They make, change and remove boards, and no table. Run the rest as
-- liza_owner when the tables are there.
CREATE ROLE liza_host LOGIN;
GRANT CONNECT ON DATABASE :db TO liza_host;
GRANT USAGE ON SCHEMA liza TO liza_host;
GRANT SELECT ON ALL TABLES IN SCHEMA liza TO liza_host;
GRANT INSERT, UPDATE, DELETE ON liza.boards, liza.entries, liza.journal, liza.revisions, liza.files TO liza_host;

-- People and dashboards that only look. They get the views alone.
CREATE ROLE liza_reader LOGIN;
GRANT CONNECT ON DATABASE :db TO liza_reader;
GRANT USAGE ON SCHEMA liza TO liza_reader;
GRANT SELECT ON liza.tasks, liza.agents, liza.attempts TO liza_reader;
`
