-- Lessons of all nodes, each once, as `memory.exchange` writes them. Whoever reads on from a number misses none: they are
-- numbered one writer after the other.

CREATE TABLE lessons (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    node text NOT NULL REFERENCES nodes,
    line text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION share_lessons(p_node text, p_keys text[], p_lines text[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE new_ones int;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('nightshift lessons', 0));
    INSERT INTO lessons (key, node, line) SELECT o.key, p_node, o.line FROM unnest(p_keys, p_lines) AS o (key, line)
        ON CONFLICT (key) DO NOTHING;
    GET DIAGNOSTICS new_ones = ROW_COUNT;
    RETURN new_ones;
END $$;

CREATE FUNCTION lessons_since(p_node text, p_number bigint, p_most int)
RETURNS TABLE (number bigint, line text, is_own boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT number, line, node = p_node FROM lessons WHERE number > p_number ORDER BY number LIMIT p_most
$$;
