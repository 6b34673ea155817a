-- What nodes tell each other of lessons beside their texts: how often each helped where, functions to be warned of, and
-- what was forgotten. Whoever reads on from a number misses nothing: rows are numbered one writer after the other.
-- Rows name nodes without a reference: what a node has seen happened, also when the node is gone.

CREATE TABLE lesson_tallies (
    key text NOT NULL CHECK (length(key) <= 64), -- '': attempts from which any lesson was withheld
    node text NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    judged_from text COLLATE "C" NOT NULL, -- counts are of attempts since then; '': of all
    used int NOT NULL,
    helped int NOT NULL,
    shown int NOT NULL,
    shown_solved int NOT NULL,
    withheld int NOT NULL,
    withheld_solved int NOT NULL,
    PRIMARY KEY (key, node),
    CHECK (helped BETWEEN 0 AND used AND shown_solved BETWEEN 0 AND shown AND withheld_solved BETWEEN 0 AND withheld)
);

CREATE TABLE lesson_shapes (
    key text NOT NULL CHECK (length(key) <= 64),
    shape text NOT NULL CHECK (length(shape) <= 64),
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    PRIMARY KEY (key, shape)
);
CREATE INDEX lesson_shapes_shape ON lesson_shapes (shape);

CREATE TABLE forgotten (
    kind text NOT NULL CHECK (kind IN ('lesson', 'shape')),
    key text NOT NULL CHECK (length(key) <= 64),
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    PRIMARY KEY (kind, key)
);

CREATE FUNCTION begin_sharing(p_node text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM nodes WHERE id = p_node;
    IF NOT FOUND THEN RAISE EXCEPTION 'node % has not joined', p_node USING ERRCODE = 'NS002'; END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('nightshift lessons', 0));
END $$;

-- A node tells its own counts as they stand; a row that counts fewer attempts than the one before is late, and is left.
CREATE FUNCTION share_tallies(p_node text, p_tallies jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    PERFORM begin_sharing(p_node);
    INSERT INTO lesson_tallies AS t (key, node, judged_from, used, helped, shown, shown_solved, withheld, withheld_solved)
        SELECT o.key, p_node, o.judged_from, o.used, o.helped, o.shown, o.shown_solved, o.withheld, o.withheld_solved
        FROM jsonb_to_recordset(p_tallies) AS o (key text, judged_from text, used int, helped int, shown int,
            shown_solved int, withheld int, withheld_solved int)
        WHERE o.judged_from ~ '^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)?$' -- and no clock that is far ahead ends a record
            AND o.judged_from COLLATE "C" < to_char(clock_timestamp() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD')
        ON CONFLICT (key, node) DO UPDATE SET number = DEFAULT, judged_from = excluded.judged_from,
            used = excluded.used, helped = excluded.helped, shown = excluded.shown, shown_solved = excluded.shown_solved,
            withheld = excluded.withheld, withheld_solved = excluded.withheld_solved
        WHERE excluded.judged_from > t.judged_from
            OR excluded.judged_from = t.judged_from AND excluded.used >= t.used
            AND excluded.shown + excluded.withheld >= t.shown + t.withheld
            AND (excluded.used, excluded.helped, excluded.shown, excluded.shown_solved, excluded.withheld,
                excluded.withheld_solved)
                IS DISTINCT FROM (t.used, t.helped, t.shown, t.shown_solved, t.withheld, t.withheld_solved);
END $$;

-- What changed since a number, each as the sum of all other nodes: of those that count since the newest start.
CREATE FUNCTION tallies_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, key text, judged_from text, used bigint, helped bigint, shown bigint, shown_solved bigint,
    withheld bigint, withheld_solved bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT c.number, c.key, n.judged_from, s.*
    FROM (SELECT t.number, t.key FROM lesson_tallies t WHERE t.number > p_number AND t.node <> p_node
        ORDER BY t.number LIMIT p_most) c
    CROSS JOIN LATERAL (SELECT max(t.judged_from) AS judged_from FROM lesson_tallies t
        WHERE t.key = c.key AND t.node <> p_node) n
    CROSS JOIN LATERAL (SELECT sum(t.used), sum(t.helped),
            coalesce(sum(t.shown) FILTER (WHERE t.judged_from = n.judged_from), 0),
            coalesce(sum(t.shown_solved) FILTER (WHERE t.judged_from = n.judged_from), 0),
            coalesce(sum(t.withheld) FILTER (WHERE t.judged_from = n.judged_from), 0),
            coalesce(sum(t.withheld_solved) FILTER (WHERE t.judged_from = n.judged_from), 0)
        FROM lesson_tallies t WHERE t.key = c.key AND t.node <> p_node) s
    ORDER BY c.number
$$;

CREATE FUNCTION share_shapes(p_node text, p_keys text[], p_shapes text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    PERFORM begin_sharing(p_node);
    INSERT INTO lesson_shapes (key, shape) SELECT o.key, o.shape FROM unnest(p_keys, p_shapes) AS o (key, shape)
        WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'shape' AND f.key = o.shape)
        ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION shapes_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, key text, shape text)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT number, key, shape FROM lesson_shapes WHERE number > p_number ORDER BY number LIMIT p_most
$$;

-- What one node has forgotten comes back from none.
CREATE FUNCTION forget_lessons(p_node text, p_kinds text[], p_keys text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    PERFORM begin_sharing(p_node);
    INSERT INTO forgotten (kind, key) SELECT o.kind, o.key FROM unnest(p_kinds, p_keys) AS o (kind, key)
        ON CONFLICT DO NOTHING;
    DELETE FROM lesson_shapes s USING forgotten f WHERE f.kind = 'shape' AND f.key = s.shape AND f.key = ANY (p_keys);
END $$;

CREATE FUNCTION forgotten_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, kind text, key text)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT number, kind, key FROM forgotten WHERE number > p_number ORDER BY number LIMIT p_most
$$;

CREATE OR REPLACE FUNCTION lessons_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, line text, is_own boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT l.number, l.line, l.node = p_node FROM lessons l WHERE l.number > p_number
        AND NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = l.key)
    ORDER BY l.number LIMIT p_most
$$;
