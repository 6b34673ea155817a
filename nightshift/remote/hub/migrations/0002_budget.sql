-- What all nodes together may spend in a day of UTC and ever. Room for a call is reserved before it is made, so that no
-- race overspends; what was used in the end takes the place of the reservation. One that its node never settled, since
-- it was lost in the midst of a call, counts as spent: the call may have been paid for.

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
    INSERT INTO spending AS s (day, tokens, cost_usd) VALUES ('-infinity', p_tokens, p_cost_usd), (p_day, p_tokens, p_cost_usd)
        ON CONFLICT (day) DO UPDATE SET tokens = s.tokens + excluded.tokens, cost_usd = s.cost_usd + excluded.cost_usd
$$;

-- Reserve room for a call. `id` is null where there is none; then what is left is told, and whether calls that are under
-- way may still give some of it back.
CREATE FUNCTION reserve(p_node text, p_tokens bigint, p_cost_usd double precision)
RETURNS TABLE (id bigint, what text, left_tokens double precision, left_cost_usd double precision, may_grow boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
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

-- Reservations of nodes that are lost count as spent from now on. Any node may call it.
CREATE FUNCTION count_lost_spending() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE one reservations; counted_ones int := 0;
BEGIN
    FOR one IN UPDATE reservations r SET counted = true FROM nodes n
        WHERE n.id = r.node AND n.lease_until < clock_timestamp() AND NOT r.counted RETURNING r.*
    LOOP
        PERFORM spend(one.day, one.tokens, one.cost_usd);
        counted_ones := counted_ones + 1;
    END LOOP;
    RETURN counted_ones;
END $$;

CREATE VIEW spending_list AS
    SELECT s.day, s.tokens, s.cost_usd, s.day = '-infinity' AS is_total,
        (SELECT coalesce(sum(r.cost_usd), 0) FROM reservations r WHERE NOT r.counted AND (r.day = s.day OR s.day = '-infinity'))
            AS reserved_usd
    FROM spending s;
