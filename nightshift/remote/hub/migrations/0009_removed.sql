-- A node that the owner has removed: it may not come back, and others have its tasks. Its row stays, since tasks and
-- events name it.
ALTER TABLE nodes ADD COLUMN removed_at timestamptz;
ALTER TABLE nodes ADD COLUMN login text NOT NULL DEFAULT ''; -- the database's user that it came as last

CREATE FUNCTION refuse_removed(p_node text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM nodes WHERE id = p_node AND removed_at IS NOT NULL) THEN
        RAISE EXCEPTION 'this node was removed by the owner of the hub' USING ERRCODE = 'NS004';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION join_hub(p_node text, p_name text, p_key text, p_labels text[], p_slots int, p_url text, p_version text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE known text;
BEGIN
    PERFORM refuse_removed(p_node);
    IF EXISTS (SELECT 1 FROM nodes WHERE public_key = p_key AND p_key <> '' AND removed_at IS NOT NULL) THEN
        RAISE EXCEPTION 'this node was removed by the owner of the hub' USING ERRCODE = 'NS004';
    END IF;
    INSERT INTO nodes (id, name, public_key, labels, slots, url, version, login)
        VALUES (p_node, p_name, p_key, p_labels, p_slots, p_url, p_version, session_user)
        ON CONFLICT (id) DO UPDATE SET name = p_name, labels = p_labels, slots = p_slots, url = p_url,
            version = p_version, login = session_user, seen_at = clock_timestamp()
        RETURNING public_key INTO known;
    IF known <> p_key THEN
        RAISE EXCEPTION 'node % is known with another key', p_name USING ERRCODE = 'NS002';
    END IF;
    RETURN known;
END $$;

-- Whatever a removed node calls, it changes no task: it holds none, can renew no lease, and submits none.
CREATE FUNCTION refuse_removed_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'tasks' THEN
        PERFORM refuse_removed(NEW.origin);
    ELSIF OLD.removed_at IS NOT NULL AND NEW.removed_at IS NOT NULL THEN
        PERFORM refuse_removed(NEW.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_of_removed BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION refuse_removed_nodes();
CREATE TRIGGER nodes_removed BEFORE UPDATE ON nodes FOR EACH ROW WHEN (OLD.removed_at IS NOT NULL)
    EXECUTE FUNCTION refuse_removed_nodes();

-- For the owner of the schema alone: it runs as whoever calls it. How many tasks were taken from the node.
CREATE FUNCTION remove_node(p_node text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE one tasks; moved int := 0;
BEGIN
    UPDATE nodes SET removed_at = clock_timestamp(), lease_until = 'epoch', busy = 0, state = ''
        WHERE id = p_node AND removed_at IS NULL;
    FOR one IN SELECT * FROM tasks WHERE node = p_node AND status IN ('running', 'waiting') ORDER BY id FOR UPDATE
    LOOP
        moved := moved + 1;
        IF one.cancel_requested THEN
            PERFORM move(one, 'cancelled', 'user', 'cancelled by its owner', NULL);
        ELSE
            PERFORM move(one, 'queued', NULL, 'its node was removed', NULL);
        END IF;
    END LOOP;
    DELETE FROM mailbox WHERE node = p_node;
    DELETE FROM answers WHERE node = p_node;
    PERFORM pg_notify('nightshift', p_node);
    RETURN moved;
END $$;

CREATE OR REPLACE VIEW node_list AS
    SELECT n.id, n.name, n.public_key, n.labels, n.slots, n.busy, n.state, n.url, n.version, n.draining, n.joined_at,
        n.seen_at, n.lease_until, n.lease_until > clock_timestamp() AS is_up,
        extract(epoch FROM clock_timestamp() - n.seen_at) AS unseen_s,
        (SELECT count(*) FROM tasks t WHERE t.node = n.id AND t.status IN ('running', 'waiting')) AS held,
        n.removed_at, n.login
    FROM nodes n;
