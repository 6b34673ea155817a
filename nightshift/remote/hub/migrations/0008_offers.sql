-- What is offered to be landed by another node carries the signature of the node that has the task; older nodes offer
-- without one, and land by themselves.
ALTER TABLE landings ADD COLUMN signature text NOT NULL DEFAULT '';

CREATE FUNCTION offer_landing(p_task bigint, p_node text, p_fence bigint, p_line text, p_commit text, p_branch text,
    p_kind text, p_signature text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    IF NOT queue_landing(p_task, p_node, p_fence, p_line, p_commit, p_branch, p_kind) THEN RETURN false; END IF;
    UPDATE landings SET signature = p_signature WHERE task = p_task;
    RETURN true;
END $$;

CREATE FUNCTION offered_landings(p_line text, p_kind text, p_most int, p_lease_s double precision)
RETURNS TABLE (task bigint, commit_id text, branch text, spec text, node text, name text, public_key text, signature text)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT w.task, w.commit_id, w.branch, w.spec, n.id, n.name, n.public_key, l.signature
    FROM waiting_landings(p_line, p_kind, p_most, p_lease_s) w JOIN landings l ON l.task = w.task
    JOIN nodes n ON n.id = l.node ORDER BY l.at
$$;
