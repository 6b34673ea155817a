-- What owners answer on any node, for the node whose task asked.

CREATE TABLE answers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task bigint NOT NULL REFERENCES tasks,
    node text NOT NULL REFERENCES nodes,
    approval bigint NOT NULL,
    granted boolean NOT NULL,
    answer text NOT NULL
);
CREATE INDEX answers_node ON answers (node, id);

CREATE FUNCTION answer(p_task bigint, p_approval bigint, p_granted boolean, p_answer text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE found_one tasks;
BEGIN
    SELECT * INTO found_one FROM tasks WHERE id = p_task FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF found_one.status <> 'waiting' THEN
        RAISE EXCEPTION 'task % is %, and asks nothing', p_task, found_one.status USING ERRCODE = 'NS001';
    END IF;
    INSERT INTO answers (task, node, approval, granted, answer)
        VALUES (p_task, found_one.node, p_approval, p_granted, p_answer);
    PERFORM pg_notify('nightshift', found_one.node);
    RETURN found_one.status;
END $$;

CREATE FUNCTION answers_for(p_node text) RETURNS SETOF answers
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT * FROM answers WHERE node = p_node ORDER BY id
$$;

CREATE FUNCTION read_answers(p_node text, p_ids bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    DELETE FROM answers WHERE node = p_node AND id = ANY (p_ids)
$$;
