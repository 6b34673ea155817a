-- A node that was removed shares no lesson any more, and nothing about one.

CREATE OR REPLACE FUNCTION begin_sharing(p_node text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refuse_removed(p_node);
    PERFORM 1 FROM nodes WHERE id = p_node;
    IF NOT FOUND THEN RAISE EXCEPTION 'node % has not joined', p_node USING ERRCODE = 'NS002'; END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('nightshift lessons', 0));
END $$;

CREATE OR REPLACE FUNCTION share_lessons(p_node text, p_keys text[], p_lines text[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE new_ones int;
BEGIN
    PERFORM begin_sharing(p_node);
    INSERT INTO lessons (key, node, line) SELECT o.key, p_node, o.line FROM unnest(p_keys, p_lines) AS o (key, line)
        WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = o.key)
        ON CONFLICT (key) DO NOTHING;
    GET DIAGNOSTICS new_ones = ROW_COUNT;
    RETURN new_ones;
END $$;
