-- What nodes share beside their tasks: the budget, and what they learned. Nodes call the functions and see no table.
-- Streams are read on from a number and numbered one writer after the other, so that nobody misses a row.

CREATE TABLE made (version int NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE TABLE options (name text PRIMARY KEY, value text NOT NULL);
CREATE VIEW option_list AS SELECT * FROM options;
CREATE VIEW made_list AS SELECT * FROM made;
CREATE TABLE nodes (id text PRIMARY KEY, lease_until timestamptz NOT NULL);

-- Room for a call is reserved before it is made, so that no race overspends. What a node that is lost had reserved
-- counts as spent: the call may have been paid for.
CREATE TABLE spending (
    day date PRIMARY KEY, -- '-infinity': all time
    tokens bigint NOT NULL DEFAULT 0,
    cost_usd double precision NOT NULL DEFAULT 0
);
CREATE TABLE reservations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node text NOT NULL REFERENCES nodes,
    day date NOT NULL,
    tokens bigint NOT NULL,
    cost_usd double precision NOT NULL,
    counted boolean NOT NULL DEFAULT false
);
CREATE INDEX reservations_open ON reservations (node) WHERE NOT counted;

CREATE FUNCTION budget(p_name text) RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT value::double precision FROM options WHERE name = p_name
$$;

CREATE FUNCTION spend(p_day date, p_tokens bigint, p_cost_usd double precision) RETURNS void LANGUAGE sql AS $$
    INSERT INTO spending AS s (day, tokens, cost_usd)
        VALUES ('-infinity', p_tokens, p_cost_usd), (p_day, p_tokens, p_cost_usd)
        ON CONFLICT (day) DO UPDATE SET tokens = s.tokens + excluded.tokens, cost_usd = s.cost_usd + excluded.cost_usd
$$;

-- A node is there for so many seconds; reservations of nodes that are not count as spent from now on.
CREATE FUNCTION beat(p_node text, p_lease_s double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
DECLARE lost reservations;
BEGIN
    INSERT INTO nodes (id, lease_until) VALUES (p_node, clock_timestamp() + make_interval(secs => p_lease_s))
        ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until;
    FOR lost IN UPDATE reservations r SET counted = true FROM nodes n
        WHERE n.id = r.node AND n.lease_until < clock_timestamp() AND NOT r.counted RETURNING r.*
    LOOP
        PERFORM spend(lost.day, lost.tokens, lost.cost_usd);
    END LOOP;
END $$;

-- `id` is null where there is no room; then what is left is told, and whether calls that are under way may give some
-- of it back.
CREATE FUNCTION reserve(p_node text, p_tokens bigint, p_cost_usd double precision)
RETURNS TABLE (id bigint, what text, left_tokens double precision, left_cost_usd double precision, may_grow boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    span record;
    made bigint;
BEGIN
    PERFORM spend(today, 0, 0);
    PERFORM 1 FROM spending s WHERE s.day IN ('-infinity', today) ORDER BY s.day FOR UPDATE;
    FOR span IN
        SELECT s.day, s.tokens, s.cost_usd, coalesce(sum(r.tokens), 0) AS held_tokens, coalesce(sum(r.cost_usd), 0) AS held_usd,
            budget(CASE WHEN s.day = today THEN 'day_tokens' ELSE 'total_tokens' END) AS most_tokens,
            budget(CASE WHEN s.day = today THEN 'day_cost_usd' ELSE 'total_cost_usd' END) AS most_usd
        FROM spending s LEFT JOIN reservations r ON NOT r.counted AND (r.day = s.day OR s.day = '-infinity')
        WHERE s.day IN ('-infinity', today) GROUP BY s.day, s.tokens, s.cost_usd
    LOOP
        IF span.tokens + span.held_tokens + p_tokens > span.most_tokens
           OR span.cost_usd + span.held_usd + p_cost_usd > span.most_usd THEN
            RETURN QUERY SELECT NULL::bigint, CASE WHEN span.day = today THEN 'day' ELSE 'total' END,
                span.most_tokens - span.tokens - span.held_tokens::double precision,
                span.most_usd - span.cost_usd - span.held_usd, span.held_tokens > 0;
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO reservations (node, day, tokens, cost_usd) VALUES (p_node, today, p_tokens, p_cost_usd)
        RETURNING reservations.id INTO made;
    RETURN QUERY SELECT made, 'day', NULL::double precision, NULL::double precision, false;
END $$;

-- What a call used in the end; telling it again is harmless.
CREATE FUNCTION settle_spending(p_id bigint, p_node text, p_tokens bigint, p_cost_usd double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
DECLARE was reservations;
BEGIN
    DELETE FROM reservations WHERE id = p_id AND node = p_node RETURNING * INTO was;
    IF NOT FOUND THEN RETURN false; END IF;
    IF was.counted THEN
        PERFORM spend(was.day, p_tokens - was.tokens, p_cost_usd - was.cost_usd);
    ELSE
        PERFORM spend(was.day, p_tokens, p_cost_usd);
    END IF;
    RETURN true;
END $$;

CREATE VIEW spending_list AS SELECT s.day, s.tokens, s.cost_usd, s.day = '-infinity' AS is_total FROM spending s;

-- Lessons, each once, as `memory.exchange` writes them, and what was found out about them later: how often each helped
-- where, functions to be warned of, and what was forgotten.
CREATE TABLE lessons (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE CHECK (length(key) <= 64),
    node text NOT NULL,
    line text NOT NULL
);
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

CREATE FUNCTION begin_sharing() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('nightshift lessons', 0))
$$;

CREATE FUNCTION share_lessons(p_node text, p_keys text[], p_lines text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
BEGIN
    PERFORM begin_sharing();
    INSERT INTO lessons (key, node, line) SELECT o.key, p_node, o.line FROM unnest(p_keys, p_lines) AS o (key, line)
        WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = o.key)
        ON CONFLICT (key) DO NOTHING;
END $$;

CREATE FUNCTION lessons_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, line text, is_own boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
    SELECT l.number, l.line, l.node = p_node FROM lessons l WHERE l.number > p_number
        AND NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = l.key)
    ORDER BY l.number LIMIT p_most
$$;

-- A node tells its own counts as they stand; a row that counts fewer attempts than the one before is late, and is left.
CREATE FUNCTION share_tallies(p_node text, p_tallies jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
BEGIN
    PERFORM begin_sharing();
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
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
BEGIN
    PERFORM begin_sharing();
    INSERT INTO lesson_shapes (key, shape) SELECT o.key, o.shape FROM unnest(p_keys, p_shapes) AS o (key, shape)
        WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'shape' AND f.key = o.shape)
        ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION shapes_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, key text, shape text)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
    SELECT number, key, shape FROM lesson_shapes WHERE number > p_number ORDER BY number LIMIT p_most
$$;

-- What a node has forgotten comes back from none.
CREATE FUNCTION forget_lessons(p_node text, p_kinds text[], p_keys text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
BEGIN
    PERFORM begin_sharing();
    INSERT INTO forgotten (kind, key) SELECT o.kind, o.key FROM unnest(p_kinds, p_keys) AS o (kind, key)
        ON CONFLICT DO NOTHING;
    DELETE FROM lesson_shapes s USING forgotten f WHERE f.kind = 'shape' AND f.key = s.shape AND f.key = ANY (p_keys);
END $$;

CREATE FUNCTION forgotten_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, kind text, key text)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
    SELECT number, kind, key FROM forgotten WHERE number > p_number ORDER BY number LIMIT p_most
$$;
