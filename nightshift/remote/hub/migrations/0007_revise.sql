-- Another specification for a task that waits, or has failed and is to be tried again. The node that has a task may
-- revise it too: it is the one whose next attempt reads the words.
CREATE FUNCTION revise(p_task bigint, p_node text, p_spec text, p_title text, p_repository text, p_needs text[],
    p_priority int, p_due timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE found_one tasks; kind int;
BEGIN
    SELECT * INTO found_one FROM tasks WHERE id = p_task FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF found_one.status = 'done' THEN
        RAISE EXCEPTION 'task % is done; other words would change nothing', p_task USING ERRCODE = 'NS001';
    END IF;
    IF found_one.status IN ('running', 'waiting') AND found_one.node <> p_node THEN
        RAISE EXCEPTION 'task % is being worked on by %; its words stay as they are', p_task,
            (SELECT name FROM nodes WHERE id = found_one.node) USING ERRCODE = 'NS001';
    END IF;
    INSERT INTO classes (share, needs) VALUES (p_repository, p_needs)
        ON CONFLICT (share, needs) DO UPDATE SET share = excluded.share RETURNING id INTO kind;
    UPDATE tasks SET spec = p_spec, title = p_title, repository = p_repository, class = kind, priority = p_priority,
        due = p_due WHERE id = p_task;
    IF found_one.status = 'queued' AND p_due > clock_timestamp() AND p_due IS DISTINCT FROM found_one.due THEN
        PERFORM move(found_one, 'scheduled', NULL, '', p_due);
    ELSIF found_one.status = 'scheduled' AND found_one.not_before = found_one.due THEN -- else a node has put it off
        IF p_due > clock_timestamp() THEN
            UPDATE tasks SET not_before = p_due WHERE id = p_task;
        ELSE
            PERFORM move(found_one, 'queued', NULL, '', NULL);
        END IF;
    ELSIF found_one.status = 'queued' THEN
        PERFORM pg_notify('nightshift', 'queued'); -- other nodes may have what it needs now
    END IF;
    PERFORM tell(found_one.origin, p_task) WHERE found_one.origin <> p_node;
    RETURN (SELECT status FROM tasks WHERE id = p_task);
END $$;
