-- A merge queue for each branch that nodes move: what is ready to land waits here, and whoever holds the branch's lock
-- may land several together. `kind` says which may be judged in one run; empty: only alone.

CREATE TABLE landings (
    task bigint PRIMARY KEY REFERENCES tasks,
    node text NOT NULL REFERENCES nodes,
    fence bigint NOT NULL,
    line text NOT NULL,
    commit_id text NOT NULL,
    branch text NOT NULL,
    kind text NOT NULL,
    landed_as text,
    alone boolean NOT NULL DEFAULT false,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX landings_waiting ON landings (line, at) WHERE landed_as IS NULL;

CREATE FUNCTION queue_landing(p_task bigint, p_node text, p_fence bigint, p_line text, p_commit text, p_branch text, p_kind text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    PERFORM 1 FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO landings (task, node, fence, line, commit_id, branch, kind)
        VALUES (p_task, p_node, p_fence, p_line, p_commit, p_branch, p_kind)
        ON CONFLICT (task) DO UPDATE SET node = p_node, fence = p_fence, line = p_line, commit_id = p_commit,
            branch = p_branch, kind = p_kind, landed_as = NULL, alone = false, at = clock_timestamp();
    RETURN true;
END $$;

CREATE FUNCTION leave_landing(p_task bigint, p_node text, p_fence bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    DELETE FROM landings WHERE task = p_task AND node = p_node AND fence = p_fence
$$;

CREATE FUNCTION landing_of(p_task bigint, p_node text, p_fence bigint) RETURNS TABLE (landed_as text, alone boolean)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT landed_as, alone FROM landings WHERE task = p_task AND node = p_node AND fence = p_fence
$$;

-- What waits for a branch and may be judged together, oldest first, as far as its nodes still hold it; nobody else can
-- take it for as long as a lease lasts.
CREATE FUNCTION waiting_landings(p_line text, p_kind text, p_most int, p_lease_s double precision)
RETURNS TABLE (task bigint, commit_id text, branch text, spec text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH ready AS (
            SELECT l.task, l.node, l.commit_id, l.branch, t.spec, l.at FROM landings l
            JOIN tasks t ON t.id = l.task AND t.node = l.node AND t.fence = l.fence AND t.status = 'running'
            WHERE l.line = p_line AND l.kind = p_kind AND l.landed_as IS NULL AND NOT l.alone AND NOT t.cancel_requested
            ORDER BY l.at LIMIT p_most FOR UPDATE OF t
        ), renewed AS (
            UPDATE nodes SET lease_until = greatest(lease_until, clock_timestamp() + make_interval(secs => p_lease_s))
            WHERE id IN (SELECT node FROM ready) RETURNING id
        )
        SELECT r.task, r.commit_id, r.branch, r.spec FROM ready r WHERE r.node IN (SELECT id FROM renewed) ORDER BY r.at;
END $$;

-- Told by who holds the branch's lock: under which commit each landed, or (NULL) that it has to be landed alone.
CREATE FUNCTION end_landings(p_line text, p_tasks bigint[], p_commits text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    UPDATE landings l SET landed_as = o.commit_id, alone = o.commit_id IS NULL
        FROM unnest(p_tasks, p_commits) AS o (task, commit_id)
        WHERE l.task = o.task AND l.line = p_line AND l.landed_as IS NULL
$$;

CREATE VIEW landing_list AS SELECT task, node, line, commit_id, branch, kind, landed_as, alone, at FROM landings;
