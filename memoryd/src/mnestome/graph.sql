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
CREATE INDEX mnests_from ON mnests (src_executor, src_version, state, lw DESC);
CREATE INDEX mnests_crossing ON mnests (t_cross) WHERE state = 'active' AND t_cross IS NOT NULL;
CREATE TABLE progress (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    applied_seq INTEGER NOT NULL CHECK (applied_seq >= 0),
    use_time    INTEGER NOT NULL CHECK (use_time >= 0),
    day         INTEGER NOT NULL,
    today       INTEGER NOT NULL
) STRICT;
INSERT INTO progress VALUES (1, 0, 0, 0, 0);
