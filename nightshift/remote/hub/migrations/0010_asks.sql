-- What was answered to the node that had a task before and could not read it any more, for the one that goes on.
CREATE FUNCTION inherit_answers(p_task bigint, p_node text, p_fence bigint)
RETURNS TABLE (approval bigint, granted boolean, answer text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    PERFORM 1 FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN RETURN; END IF;
    RETURN QUERY WITH taken AS (DELETE FROM answers a WHERE a.task = p_task AND a.node <> p_node RETURNING a.*)
        SELECT t.approval, t.granted, t.answer FROM taken t ORDER BY t.id;
END $$;
