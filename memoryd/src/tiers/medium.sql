-- The tables of `.runtime/medium.sqlite`: the conversations of late and the recent tasks, derived from the chronicle.
CREATE TABLE messages (
    seq  INTEGER PRIMARY KEY CHECK (seq >= 1),
    peer TEXT NOT NULL,
    ts   INTEGER NOT NULL,
    own  INTEGER NOT NULL CHECK (own IN (0, 1)),
    text BLOB NOT NULL
) STRICT;
CREATE INDEX messages_by_peer ON messages (peer, seq);
CREATE TABLE tasks (
    seq       INTEGER PRIMARY KEY CHECK (seq >= 1),
    peer      TEXT NOT NULL,
    ts        INTEGER NOT NULL,
    ended     TEXT NOT NULL,
    executors TEXT NOT NULL CHECK (json_type(executors) = 'array')
) STRICT;
CREATE INDEX tasks_by_peer ON tasks (peer, seq);
-- What became of messages that are no longer here: each cites the lines that it covers.
CREATE TABLE summaries (
    peer     TEXT NOT NULL,
    from_seq INTEGER NOT NULL CHECK (from_seq >= 1),
    upto_seq INTEGER NOT NULL,
    from_ts  INTEGER NOT NULL,
    upto_ts  INTEGER NOT NULL,
    messages INTEGER NOT NULL CHECK (messages >= 1),
    own      BLOB NOT NULL,
    answers  BLOB NOT NULL,
    cited    TEXT NOT NULL CHECK (json_type(cited) = 'array'),
    PRIMARY KEY (peer, from_seq),
    CHECK (from_seq <= upto_seq)
) STRICT, WITHOUT ROWID;
-- The six files as they were last recorded.
CREATE TABLE files (
    name   TEXT PRIMARY KEY,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE progress (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    applied INTEGER NOT NULL CHECK (applied >= 0),
    day     INTEGER NOT NULL
) STRICT;
INSERT INTO progress VALUES (1, 0, 0);
