-- The tables of `.mnestome/mnest.sqlite`: what a mnest may be (design: memory §2), as constraints.
CREATE TABLE mnests (
    id            TEXT PRIMARY KEY CHECK (length(id) = 32 AND id GLOB 'mnest_*'),
    src_executor  TEXT NOT NULL CHECK (src_executor <> '' OR state = 'proto'),
    src_version   TEXT NOT NULL CHECK ((src_version = '') = (src_executor = '')),
    dst_executor  TEXT NOT NULL CHECK (dst_executor <> ''),
    dst_version   TEXT CHECK (dst_version <> ''),
    weight        REAL NOT NULL CHECK (weight > 0 AND weight <= 1),
    uses          INTEGER NOT NULL CHECK (uses >= 1),
    ts_first      INTEGER NOT NULL,
    ts_last       INTEGER NOT NULL,
    decay_lambda  REAL NOT NULL CHECK (decay_lambda > 0),
    tags          TEXT NOT NULL CHECK (json_type(tags) = 'array'),
    state         TEXT NOT NULL CHECK (state IN ('active', 'proto', 'decaying', 'superseded', 'archived')),
    desired_signature TEXT CHECK (json_type(desired_signature) = 'object'),
    why           TEXT,
    last_event_seq INTEGER NOT NULL CHECK (last_event_seq >= 1),
    used_at       INTEGER NOT NULL CHECK (used_at >= 0),
    lw            REAL NOT NULL,
    t_cross       INTEGER,
    CHECK (ts_first <= ts_last),
    CHECK ((dst_version IS NULL) = (state = 'proto')),
    CHECK ((desired_signature IS NOT NULL) = (state = 'proto')),
    CHECK ((why IS NOT NULL) = (state = 'proto'))
) STRICT;
CREATE UNIQUE INDEX mnests_edge ON mnests (src_executor, src_version, dst_executor, coalesce(dst_version, ''));
-- With all that a look at the neighbours needs in it, so that they are read in one go.
CREATE INDEX mnests_from ON mnests (src_executor, src_version, state, lw DESC, dst_executor, dst_version, decay_lambda);
-- With the name, so that where many cross at once a pass reads as many as it takes and sorts none.
CREATE INDEX mnests_due ON mnests (t_cross, id) WHERE t_cross IS NOT NULL;
CREATE INDEX mnests_to ON mnests (dst_executor, dst_version, state, lw DESC);
CREATE INDEX mnests_oldest ON mnests (ts_first);
CREATE INDEX mnests_heaviest ON mnests (lw DESC, id);
CREATE TABLE progress (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    applied_seq INTEGER NOT NULL CHECK (applied_seq >= 0),
    use_time    INTEGER NOT NULL CHECK (use_time >= 0),
    day         INTEGER NOT NULL,
    today       INTEGER NOT NULL,
    calls       INTEGER NOT NULL CHECK (calls >= 0),
    frozen      INTEGER NOT NULL CHECK (frozen IN (0, 1))
) STRICT;
INSERT INTO progress VALUES (1, 0, 0, 0, 0, 0, 0);
-- What the ager proposes; the owner decides. One proposal of a kind about a mnest, whatever became of it.
CREATE TABLE proposals (
    id     TEXT PRIMARY KEY,
    kind   TEXT NOT NULL CHECK (kind IN ('archival', 'synthesis', 'fusion', 'generalisation', 'specialisation')),
    mnest  TEXT NOT NULL,
    why    TEXT NOT NULL,
    at_use INTEGER NOT NULL CHECK (at_use >= 0),
    seq    INTEGER NOT NULL CHECK (seq >= 1),
    state  TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'declined')),
    UNIQUE (kind, mnest)
) STRICT;
-- What the ager has not looked at since it was strengthened.
CREATE TABLE touched (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
-- Executors that were born before anything was called: whether one gives text, and whether it takes some.
CREATE TABLE first_ones (
    name    TEXT NOT NULL,
    version TEXT NOT NULL,
    gives   INTEGER NOT NULL CHECK (gives IN (0, 1)),
    takes   INTEGER NOT NULL CHECK (takes IN (0, 1)),
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
-- What was kept, by name.
CREATE TABLE snapshots (
    name   TEXT PRIMARY KEY CHECK (name <> ''),
    at_seq INTEGER NOT NULL CHECK (at_seq >= 0),
    digest TEXT NOT NULL,
    seq    INTEGER NOT NULL CHECK (seq >= 1),
    ts     INTEGER NOT NULL,
    why    TEXT NOT NULL
) STRICT;
-- How each executor stands: the sum of what its calls were worth as of `at_use`, and what was counted since it was last put in sight.
CREATE TABLE fitness (
    name           TEXT NOT NULL,
    version        TEXT NOT NULL,
    effect         INTEGER NOT NULL CHECK (effect IN (0, 1)),
    sum            REAL NOT NULL,
    at_use         INTEGER NOT NULL CHECK (at_use >= 0),
    judged         INTEGER NOT NULL CHECK (judged >= 0),
    without_signal INTEGER NOT NULL CHECK (without_signal >= 0),
    used_at        INTEGER NOT NULL CHECK (used_at >= 0),
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
-- The last turns in which something was called: what their ends said, and what the owner has said of them.
CREATE TABLE judged_turns (
    n      INTEGER PRIMARY KEY,
    turn   TEXT NOT NULL UNIQUE,
    seq    INTEGER NOT NULL CHECK (seq >= 1),
    at_use INTEGER NOT NULL CHECK (at_use >= 0),
    goal   TEXT NOT NULL CHECK (goal IN ('reached', 'missed', 'cut_off')),
    word   TEXT NOT NULL CHECK (word IN ('unsaid', 'good', 'bad', 'undone'))
) STRICT;
