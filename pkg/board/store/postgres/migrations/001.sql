-- One row for each board. Who writes to a board holds the lock on its row.
CREATE TABLE liza.boards (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text NOT NULL UNIQUE,
    revision bigint NOT NULL,
    thinned  bigint NOT NULL DEFAULT 0, -- up to here not every revision is kept
    journal  text NOT NULL,             -- link of the last entry
    created  timestamptz NOT NULL DEFAULT now()
);

-- The parts of the text of a board, each as often as it was written. Those without an end are the board as it is.
CREATE TABLE liza.entries (
    board    bigint NOT NULL REFERENCES liza.boards ON DELETE CASCADE,
    section  text NOT NULL,     -- tasks; '' for what belongs to none
    place    bigint NOT NULL,   -- order in the section; 0: the section itself, or what is before its first entry
    revision bigint NOT NULL,   -- which wrote it
    until    bigint,            -- which ended it
    shape    smallint NOT NULL, -- 0 section, 1 section with a list, 2 section with a map, 3 entry, 4 comments at the end, 5 the whole text
    indent   smallint NOT NULL, -- column of a section's entries
    position integer NOT NULL,  -- order of the sections
    key      text NOT NULL,     -- name of an entry of a map, id of one of a list
    body     text NOT NULL,     -- YAML, with its comments
    value    jsonb              -- the same, for queries
);
CREATE UNIQUE INDEX entries_current ON liza.entries (board, section, place) WHERE until IS NULL;
CREATE INDEX entries_written ON liza.entries (board, revision) WHERE until IS NULL;
CREATE INDEX entries_ended ON liza.entries (board, until) WHERE until IS NOT NULL;

-- What happened, in the words of log.yaml.
CREATE TABLE liza.journal (
    board    bigint NOT NULL REFERENCES liza.boards ON DELETE CASCADE,
    number   bigint GENERATED ALWAYS AS IDENTITY,
    revision bigint NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    agent    text NOT NULL,
    action   text NOT NULL,
    task     text NOT NULL, -- '': none
    line     text NOT NULL,
    PRIMARY KEY (board, number)
);
CREATE INDEX journal_revision ON liza.journal (board, revision);

-- The revisions that can be looked at or put back.
CREATE TABLE liza.revisions (
    board     bigint NOT NULL REFERENCES liza.boards ON DELETE CASCADE,
    revision  bigint NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    operation uuid NOT NULL, -- of the write, so that one whose answer was lost is found
    verb      text NOT NULL,
    agent     text NOT NULL,
    PRIMARY KEY (board, revision)
);

CREATE VIEW liza.tasks AS
    SELECT b.name AS board, e.key AS id, e.value ->> 'status' AS status, e.value ->> 'assigned_to' AS assigned_to,
           e.value ->> 'priority' AS priority, e.value ->> 'description' AS description, e.revision, e.value
    FROM liza.entries e JOIN liza.boards b ON b.id = e.board
    WHERE e.section = 'tasks' AND e.shape = 3 AND e.until IS NULL;

CREATE VIEW liza.agents AS
    SELECT b.name AS board, e.key AS id, e.value ->> 'role' AS role, e.value ->> 'status' AS status,
           e.value ->> 'current_task' AS current_task, e.value ->> 'heartbeat' AS heartbeat, e.revision, e.value
    FROM liza.entries e JOIN liza.boards b ON b.id = e.board
    WHERE e.section = 'agents' AND e.shape = 3 AND e.until IS NULL;
