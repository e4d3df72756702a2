-- The tables of `.audit/index.sqlite`: projections of the chronicle, rebuilt from it at will.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY CHECK (seq >= 1),
    hash    BLOB NOT NULL CHECK (length(hash) = 32),
    day     INTEGER NOT NULL,
    offset  INTEGER NOT NULL CHECK (offset >= 0),
    bytes   INTEGER NOT NULL CHECK (bytes > 0),
    ts      INTEGER NOT NULL,
    type    TEXT NOT NULL,
    turn    BLOB CHECK (turn IS NULL OR length(turn) = 16),
    call    BLOB CHECK (call IS NULL OR length(call) = 16),
    payload BLOB NOT NULL CHECK (length(payload) = 32)
) STRICT;
CREATE INDEX events_by_turn ON events (turn, seq) WHERE turn IS NOT NULL;
CREATE INDEX events_by_call ON events (call, type) WHERE call IS NOT NULL;
CREATE TABLE turns (
    turn      BLOB PRIMARY KEY CHECK (length(turn) = 16),
    trace     BLOB NOT NULL CHECK (length(trace) = 16),
    channel   TEXT NOT NULL,
    peer      TEXT NOT NULL,
    trust     TEXT NOT NULL,
    lang      TEXT NOT NULL,
    direct    INTEGER NOT NULL CHECK (direct IN (0, 1)),
    said      INTEGER,
    opened    INTEGER,
    delivered INTEGER,
    closed    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_by_peer ON turns (peer, said) WHERE said IS NOT NULL;
CREATE TABLE executors (
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    callable  INTEGER NOT NULL CHECK (callable IN (0, 1)),
    candidate TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE view (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    day   INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
-- The Merkle tree over the hashes of all events above: the roots of its full subtrees.
CREATE TABLE tree (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    frontier BLOB NOT NULL
) STRICT;
-- Whose payload was taken out by rite, and which event says so.
CREATE TABLE redacted (
    seq    INTEGER PRIMARY KEY CHECK (seq >= 1),
    by_seq INTEGER NOT NULL
) STRICT;
-- What channels that may say words twice call them: which turn they have opened.
CREATE TABLE marks (
    peer TEXT NOT NULL,
    mark TEXT NOT NULL,
    said INTEGER NOT NULL,
    turn BLOB NOT NULL CHECK (length(turn) = 16),
    PRIMARY KEY (peer, mark, said)
) STRICT, WITHOUT ROWID;
CREATE INDEX marks_by_said ON marks (said);
