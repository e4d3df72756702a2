-- The tables of `.runtime/recall.sqlite`: by which words each remembered turn is found. No text stands here.
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    peer  TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE docs (
    doc     INTEGER PRIMARY KEY CHECK (doc >= 1),
    scope   INTEGER NOT NULL REFERENCES scopes (scope),
    session INTEGER NOT NULL CHECK (session >= 0),
    speaker TEXT NOT NULL,
    ts      INTEGER NOT NULL CHECK (ts >= 0),
    words   INTEGER NOT NULL CHECK (words >= 0),
    marks   INTEGER NOT NULL CHECK (marks >= 0),
    trust   TEXT NOT NULL,
    -- How much it was of use, at the call by number `used_at` (design: memory §4, dynamics).
    salience REAL NOT NULL DEFAULT 0 CHECK (salience >= 0 AND salience <= 1),
    used_at  INTEGER NOT NULL DEFAULT 0 CHECK (used_at >= 0)
) STRICT;
CREATE INDEX docs_by_scope ON docs (scope, doc);
-- Only letters and digits are ever put in: the digest of each stem behind the number of its scope.
CREATE VIRTUAL TABLE stems USING fts5 (
    body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);
CREATE VIRTUAL TABLE places USING fts5vocab (stems, instance);
CREATE TABLE progress (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    applied_seq INTEGER NOT NULL CHECK (applied_seq >= 0),
    calls       INTEGER NOT NULL CHECK (calls >= 0)
) STRICT;
INSERT INTO progress VALUES (1, 0, 0);
