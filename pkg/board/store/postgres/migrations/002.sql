-- The key with which approvals are sealed, which all hosts of a board share.
ALTER TABLE liza.boards ADD seal text NOT NULL DEFAULT '';

-- What hosts share besides: settings, roles and instructions as they were when the board was made, and the archive.
CREATE TABLE liza.files (
    board  bigint NOT NULL REFERENCES liza.boards ON DELETE CASCADE,
    path   text NOT NULL,                            -- below .liza
    number bigint GENERATED ALWAYS AS IDENTITY,      -- a file that is written again gets a new one
    text   text NOT NULL,
    PRIMARY KEY (board, path)
);
CREATE INDEX files_number ON liza.files (board, number);

-- For people's queries and dashboards (specs/hosts.md). What a person wrote on a board may be no time and no number.
DROP VIEW liza.tasks;
DROP VIEW liza.agents;

CREATE FUNCTION liza.moment(said text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN said::timestamptz;
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

CREATE FUNCTION liza.number(said text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN said::numeric;
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

CREATE VIEW liza.tasks AS
    SELECT b.name AS board, e.key AS id, e.value ->> 'status' AS status, e.value ->> 'title' AS title, e.value ->> 'description' AS description,
           liza.number(e.value ->> 'priority') AS priority, e.value ->> 'type' AS type, e.value ->> 'kind' AS kind,
           e.value ->> 'assigned_to' AS assigned_to, e.value ->> 'reviewing_by' AS reviewing_by, e.value ->> 'approved_by' AS approved_by,
           e.value ->> 'blocked_kind' AS blocked_kind, e.value ->> 'blocked_reason' AS blocked_reason,
           liza.number(e.value ->> 'review_cycles_total') AS review_cycles, liza.number(e.value ->> 'crashes') AS crashes,
           liza.moment(e.value ->> 'created') AS created, liza.moment(e.value ->> 'lease_expires') AS lease_expires,
           e.value ->> 'merge_commit' AS merge_commit, e.revision, e.value
    FROM liza.entries e JOIN liza.boards b ON b.id = e.board
    WHERE e.section = 'tasks' AND e.shape = 3 AND e.until IS NULL;

CREATE VIEW liza.agents AS
    SELECT b.name AS board, e.key AS id, e.value ->> 'role' AS role, e.value ->> 'status' AS status, e.value ->> 'host' AS host,
           e.value ->> 'current_task' AS current_task, e.value ->> 'cli' AS cli, e.value ->> 'model' AS model, e.value ->> 'waiting_for' AS waiting_for,
           liza.moment(e.value ->> 'heartbeat') AS heartbeat, liza.moment(e.value ->> 'lease_expires') AS lease_expires,
           liza.moment(e.value ->> 'started') AS started, liza.number(e.value ->> 'iterations_total') AS runs, e.revision, e.value
    FROM liza.entries e JOIN liza.boards b ON b.id = e.board
    WHERE e.section = 'agents' AND e.shape = 3 AND e.until IS NULL;

CREATE VIEW liza.attempts AS
    SELECT b.name AS board, e.key AS task, liza.number(a.value ->> 'seq') AS seq, a.value ->> 'agent' AS agent, a.value ->> 'kind' AS kind, a.value ->> 'role' AS role,
           a.value ->> 'outcome' AS outcome, a.value ->> 'summary' AS summary, a.value ->> 'cli' AS cli, liza.number(a.value ->> 'cost_cents') AS cost_cents,
           liza.number(a.value ->> 'seconds') AS seconds, liza.moment(a.value ->> 'ended') AS ended, a.value ->> 'commit' AS commit, a.value
    FROM liza.entries e JOIN liza.boards b ON b.id = e.board,
         jsonb_array_elements(CASE jsonb_typeof(e.value -> 'attempts') WHEN 'array' THEN e.value -> 'attempts' ELSE '[]' END) AS a (value)
    WHERE e.section = 'tasks' AND e.shape = 3 AND e.until IS NULL;
