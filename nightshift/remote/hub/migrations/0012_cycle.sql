-- What a claim and an end need not do. Rows of nodes and tasks are never deleted, and what names them has just read
-- them; so their references are not checked again, which locked the node's row with each claim and each message.
ALTER TABLE tasks DROP CONSTRAINT tasks_node_fkey;
ALTER TABLE mailbox DROP CONSTRAINT mailbox_node_fkey;
ALTER TABLE mailbox DROP CONSTRAINT mailbox_task_fkey;

-- As before; how many run of each share is counted anew only where another turn follows.
CREATE OR REPLACE FUNCTION claim(p_node text, p_most int) RETURNS SETOF tasks
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE
    has text[];
    running jsonb; -- how many run of each share; looked up, since a join would be planned for the few that ran once
    candidate int;
    its_share text;
    chosen tasks;
BEGIN
    SELECT labels INTO has FROM nodes
        WHERE id = p_node AND NOT draining AND lease_until > clock_timestamp();
    IF NOT FOUND OR EXISTS (SELECT 1 FROM pauses) THEN RETURN; END IF;
    SELECT coalesce(jsonb_object_agg(r.share, r.count), '{}') INTO running FROM (
        SELECT c.share, count(*) AS count FROM tasks t JOIN classes c ON c.id = t.class
            WHERE t.status IN ('running', 'waiting') GROUP BY c.share) AS r;
    FOR turn IN 1 .. p_most LOOP
        chosen := NULL;
        FOR candidate, its_share IN
            SELECT c.id, c.share FROM classes c
            CROSS JOIN LATERAL (SELECT t.priority, t.id FROM tasks t WHERE t.class = c.id AND t.status = 'queued'
                                ORDER BY t.priority DESC, t.id LIMIT 1) AS head
            WHERE c.needs <@ has ORDER BY head.priority DESC, coalesce((running ->> c.share)::int, 0), head.id
        LOOP
            UPDATE tasks SET status = 'running', node = p_node, node_task = NULL, fence = nextval('fences'),
                attempt = attempt + 1, reason = '', claimed_at = clock_timestamp()
                WHERE id = (SELECT t.id FROM tasks t WHERE t.class = candidate AND t.status = 'queued'
                    ORDER BY t.priority DESC, t.id LIMIT 1 FOR UPDATE SKIP LOCKED)
                RETURNING * INTO chosen;
            EXIT WHEN FOUND;
        END LOOP;
        EXIT WHEN chosen.id IS NULL;
        INSERT INTO events (task, node, was, became) VALUES (chosen.id, p_node, 'queued', 'running');
        RETURN NEXT chosen;
        IF turn < p_most THEN
            running := jsonb_set(running, ARRAY[its_share], to_jsonb(coalesce((running ->> its_share)::int, 0) + 1));
        END IF;
    END LOOP;
END $$;

-- As before, in one update of the row; and the node that tells an end is not told it.
CREATE OR REPLACE FUNCTION finish(p_task bigint, p_node text, p_fence bigint, p_status text, p_ending text, p_reason text,
    p_commit text, p_branch text, p_iterations int, p_spent text, p_signature text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE mine tasks; start text := 'running';
BEGIN
    IF p_status NOT IN ('done', 'failed', 'cancelled') THEN
        RAISE EXCEPTION 'a task cannot end as %', p_status USING ERRCODE = 'NS001';
    END IF;
    UPDATE tasks SET status = p_status, ending = p_ending, reason = p_reason, not_before = NULL, cancel_requested = false,
        ended_at = clock_timestamp(), commit_id = p_commit, branch = p_branch, iterations = p_iterations,
        spent = p_spent, signature = p_signature, asks = ''
        WHERE id = p_task AND node = p_node AND fence = p_fence AND status = 'running' RETURNING * INTO mine;
    IF NOT FOUND THEN
        SELECT * INTO mine FROM held(p_task, p_node, p_fence);
        IF NOT FOUND THEN
            RETURN EXISTS (SELECT 1 FROM tasks WHERE id = p_task AND node = p_node AND fence = p_fence
                AND status = p_status AND ending = p_ending AND commit_id IS NOT DISTINCT FROM p_commit);
        END IF;
        IF mine.status = 'waiting' AND p_status = 'done' THEN
            PERFORM go_on(mine);
        ELSE
            start := mine.status;
        END IF;
        UPDATE tasks SET status = p_status, ending = p_ending, reason = p_reason, not_before = NULL,
            cancel_requested = false, ended_at = clock_timestamp(), commit_id = p_commit, branch = p_branch,
            iterations = p_iterations, spent = p_spent, signature = p_signature, asks = ''
            WHERE id = p_task RETURNING * INTO mine;
    END IF;
    INSERT INTO events (task, node, was, became, reason) VALUES (p_task, p_node, start, p_status, p_reason);
    DELETE FROM checkpoints WHERE task = p_task;
    IF mine.attempt = 1 THEN -- it has run nowhere else
        IF mine.origin <> p_node THEN PERFORM tell(mine.origin, p_task); END IF;
    ELSE
        PERFORM tell(one.node, p_task) FROM (SELECT mine.origin AS node UNION
            SELECT e.node FROM events e WHERE e.task = p_task AND e.became = 'running') AS one
            WHERE one.node <> p_node;
    END IF;
    IF EXISTS (SELECT 1 FROM edges WHERE needs = p_task) THEN PERFORM settle(p_task, p_status); END IF;
    RETURN true;
END $$;
