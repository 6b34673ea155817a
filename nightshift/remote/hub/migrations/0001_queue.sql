-- What nodes must agree on: who they are, which tasks there are, whose turn it is. Steps, prompts and logs stay on the
-- node that made them. Nodes call the functions, which run as the owner of the schema; they may alter nothing else.
-- Each function is one transaction. Every write for a task that runs names its node and its fence; who does not hold
-- them gets false. Leases are judged by the server's clock alone, and belong to nodes: a thousand tasks are renewed by
-- one row.

CREATE TABLE nodes (
    id text PRIMARY KEY,
    name text NOT NULL,
    public_key text NOT NULL,
    labels text[] NOT NULL DEFAULT '{}',
    slots int NOT NULL DEFAULT 0,
    busy int NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT '',
    url text NOT NULL DEFAULT '',
    version text NOT NULL DEFAULT '',
    draining boolean NOT NULL DEFAULT false,
    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

-- Tasks that the same nodes can take, and that share one turn.
CREATE TABLE classes (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    share text NOT NULL,
    needs text[] NOT NULL,
    UNIQUE (share, needs)
);

CREATE SEQUENCE fences;

CREATE TABLE tasks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text UNIQUE,
    spec text NOT NULL,
    title text NOT NULL,
    repository text NOT NULL DEFAULT '',
    class int NOT NULL REFERENCES classes,
    priority int NOT NULL,
    status text NOT NULL,
    ending text,
    reason text NOT NULL DEFAULT '',
    attempt int NOT NULL DEFAULT 0,
    crashes int NOT NULL DEFAULT 0,
    node text REFERENCES nodes,
    node_task bigint,
    fence bigint NOT NULL DEFAULT 0,
    due timestamptz, -- when its owner lets it begin
    not_before timestamptz, -- when it is claimed, while it is scheduled
    cancel_requested boolean NOT NULL DEFAULT false,
    origin text NOT NULL REFERENCES nodes,
    origin_task bigint,
    commit_id text,
    branch text,
    iterations int NOT NULL DEFAULT 0,
    spent text NOT NULL DEFAULT '{}',
    signature text NOT NULL DEFAULT '',
    asks text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_at timestamptz,
    ended_at timestamptz
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX tasks_ready ON tasks (class, priority DESC, id) WHERE status = 'queued';
CREATE INDEX tasks_due ON tasks (not_before) WHERE status = 'scheduled';
CREATE INDEX tasks_held ON tasks (node) WHERE status IN ('running', 'waiting');
CREATE INDEX tasks_listed ON tasks (status, id);

CREATE TABLE edges (
    task bigint NOT NULL REFERENCES tasks,
    needs bigint NOT NULL REFERENCES tasks,
    PRIMARY KEY (task, needs)
);
CREATE INDEX edges_needed ON edges (needs);

-- The attempt of a task as it was after its last step, for the node that goes on with it.
CREATE TABLE checkpoints (
    task bigint PRIMARY KEY REFERENCES tasks,
    fence bigint NOT NULL,
    data text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What a node has to learn of tasks that were submitted there, or run there; it removes what it has stored.
CREATE TABLE mailbox (
    node text NOT NULL REFERENCES nodes,
    task bigint NOT NULL REFERENCES tasks,
    number bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (node, task)
);
CREATE INDEX mailbox_in_order ON mailbox (node, number);

CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    task bigint,
    node text,
    was text,
    became text,
    reason text NOT NULL DEFAULT ''
);
CREATE INDEX events_task ON events (task, id);

-- What holds for all nodes, set by the owner of the schema: `workspace` is the remote that their workspaces follow.
CREATE TABLE options (name text PRIMARY KEY, value text NOT NULL);

CREATE TABLE pauses (reason text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());

-- Filled from the one table of moves that the program has (core.states).
CREATE TABLE moves (was text NOT NULL, became text NOT NULL, PRIMARY KEY (was, became));

CREATE FUNCTION refuse_illegal_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status <> NEW.status
       AND NOT EXISTS (SELECT 1 FROM moves WHERE was = OLD.status AND became = NEW.status) THEN
        RAISE EXCEPTION 'task % is % and cannot become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'NS001';
    END IF;
    IF TG_OP = 'INSERT' AND NEW.status NOT IN ('queued', 'scheduled', 'blocked') THEN
        RAISE EXCEPTION 'a new task cannot be %', NEW.status USING ERRCODE = 'NS001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tasks_move BEFORE INSERT OR UPDATE OF status ON tasks
    FOR EACH ROW EXECUTE FUNCTION refuse_illegal_moves();

-- A node with unread messages was told already. Commits that notify pass one at a time, each with a flush of its own, so
-- nothing is told that need not be; who reads and is overtaken finds the rest at its next poll.
CREATE FUNCTION tell(p_node text, p_task bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE has_unread boolean;
BEGIN
    IF p_node IS NULL THEN RETURN; END IF;
    has_unread := EXISTS (SELECT 1 FROM mailbox WHERE node = p_node);
    INSERT INTO mailbox (node, task) VALUES (p_node, p_task)
        ON CONFLICT (node, task) DO UPDATE SET number = DEFAULT;
    IF NOT has_unread THEN PERFORM pg_notify('nightshift', p_node); END IF;
END $$;

-- The one way in which a status changes: the row, its event, and whoever waits for it.
CREATE FUNCTION move(p_task tasks, p_to text, p_ending text, p_reason text, p_not_before timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_task.status = p_to THEN
        RAISE EXCEPTION 'task % is % already', p_task.id, p_to USING ERRCODE = 'NS001';
    END IF;
    UPDATE tasks SET status = p_to, ending = p_ending, reason = p_reason, not_before = p_not_before,
        cancel_requested = CASE WHEN p_to IN ('running', 'waiting') THEN cancel_requested ELSE false END,
        ended_at = CASE WHEN p_to IN ('done', 'failed', 'cancelled') THEN clock_timestamp() END
        WHERE id = p_task.id;
    INSERT INTO events (task, node, was, became, reason)
        VALUES (p_task.id, p_task.node, p_task.status, p_to, p_reason);
    IF p_to = 'queued' THEN PERFORM pg_notify('nightshift', 'queued'); END IF;
    IF p_to IN ('done', 'failed', 'cancelled') THEN
        DELETE FROM checkpoints WHERE task = p_task.id;
        PERFORM tell(one.node, p_task.id) FROM (SELECT p_task.origin AS node UNION
            SELECT e.node FROM events e WHERE e.task = p_task.id AND e.became = 'running') AS one;
        PERFORM settle(p_task.id, p_to);
    END IF;
END $$;

-- What an end means for those that depend on the task: the last one done releases them, a failed one fails them.
CREATE FUNCTION settle(p_task bigint, p_status text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one bigint; dependant tasks;
BEGIN
    FOR one IN SELECT t.id FROM edges e JOIN tasks t ON t.id = e.task
        WHERE e.needs = p_task AND t.status IN ('blocked', 'scheduled') ORDER BY t.id FOR UPDATE OF t
    LOOP
        -- As it is now: the end of an earlier one may have ended it.
        SELECT * INTO dependant FROM tasks t WHERE t.id = one AND t.status IN ('blocked', 'scheduled');
        CONTINUE WHEN NOT FOUND;
        IF p_status <> 'done' THEN
            PERFORM move(dependant, 'failed', 'dependency', format('task %s, which it depends on, %s', p_task,
                CASE p_status WHEN 'failed' THEN 'failed' ELSE 'was cancelled' END), NULL);
        ELSIF dependant.status = 'blocked' AND NOT EXISTS (
            SELECT 1 FROM edges e JOIN tasks t ON t.id = e.needs WHERE e.task = dependant.id AND t.status <> 'done')
        THEN
            PERFORM begin_waiting(dependant, '');
        END IF;
    END LOOP;
END $$;

-- Where a task stands that nothing blocks: queued, or scheduled until its time.
CREATE FUNCTION begin_waiting(p_task tasks, p_reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_task.due > clock_timestamp() THEN
        PERFORM move(p_task, 'scheduled', NULL, p_reason, p_task.due);
    ELSE
        PERFORM move(p_task, 'queued', NULL, p_reason, NULL);
    END IF;
END $$;

-- Nodes

CREATE FUNCTION join_hub(p_node text, p_name text, p_key text, p_labels text[], p_slots int, p_url text, p_version text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE known text;
BEGIN
    INSERT INTO nodes (id, name, public_key, labels, slots, url, version)
        VALUES (p_node, p_name, p_key, p_labels, p_slots, p_url, p_version)
        ON CONFLICT (id) DO UPDATE SET name = p_name, labels = p_labels, slots = p_slots, url = p_url,
            version = p_version, seen_at = clock_timestamp()
        RETURNING public_key INTO known;
    IF known <> p_key THEN
        RAISE EXCEPTION 'node % is known with another key', p_name USING ERRCODE = 'NS002';
    END IF;
    RETURN known;
END $$;

-- Renews the lease of a node, and says what holds for the tasks that it says it has. What is not held is lost: it stops
-- working on it. What the node should have and does not name (it died before it stored the claim) is given back.
CREATE FUNCTION beat(p_node text, p_lease_s double precision, p_busy int, p_state text, p_ids bigint[], p_fences bigint[])
RETURNS TABLE (task bigint, held boolean, cancelled boolean, priority int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE forgotten tasks;
BEGIN
    UPDATE nodes SET seen_at = clock_timestamp(), busy = p_busy, state = p_state,
        lease_until = clock_timestamp() + make_interval(secs => p_lease_s) WHERE id = p_node;
    IF NOT FOUND THEN RAISE EXCEPTION 'node % has not joined', p_node USING ERRCODE = 'NS002'; END IF;
    FOR forgotten IN SELECT t.* FROM tasks t WHERE t.node = p_node AND t.status IN ('running', 'waiting')
        AND t.id <> ALL (p_ids) AND t.claimed_at < clock_timestamp() - make_interval(secs => p_lease_s) FOR UPDATE
    LOOP
        IF forgotten.cancel_requested THEN
            PERFORM move(forgotten, 'cancelled', 'user', 'cancelled by its owner', NULL);
        ELSE
            PERFORM move(forgotten, 'queued', NULL, 'its node does not know it any more', NULL);
        END IF;
    END LOOP;
    RETURN QUERY SELECT o.id, t.id IS NOT NULL, coalesce(t.cancel_requested, false), t.priority
        FROM unnest(p_ids, p_fences) AS o (id, fence)
        LEFT JOIN tasks t ON t.id = o.id AND t.fence = o.fence AND t.node = p_node
            AND t.status IN ('running', 'waiting');
END $$;

CREATE FUNCTION drain(p_node text, p_draining boolean) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    UPDATE nodes SET draining = p_draining WHERE id = p_node;
    SELECT pg_notify('nightshift', 'queued');
    SELECT EXISTS (SELECT 1 FROM nodes WHERE id = p_node)
$$;

-- Tasks

CREATE FUNCTION submit(p_key text, p_spec text, p_title text, p_repository text, p_share text, p_needs text[],
    p_priority int, p_due timestamptz, p_depends bigint[], p_origin text, p_origin_task bigint,
    p_created_at timestamptz)
RETURNS TABLE (id bigint, status text, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE
    kind int;
    made tasks;
    first text := CASE WHEN p_due > clock_timestamp() THEN 'scheduled' ELSE 'queued' END;
    unmet text;
    open_ones int;
BEGIN
    RETURN QUERY SELECT t.id, t.status, false FROM tasks t WHERE t.key = p_key;
    IF FOUND THEN RETURN; END IF;
    PERFORM 1 FROM tasks t WHERE t.id = ANY (p_depends) ORDER BY t.id FOR SHARE;
    SELECT string_agg(format('task %s %s', d, coalesce('is ' || t.status, 'does not exist')), ', ') INTO unmet
        FROM unnest(p_depends) AS d LEFT JOIN tasks t ON t.id = d
        WHERE t.id IS NULL OR t.status IN ('failed', 'cancelled');
    IF unmet IS NOT NULL THEN RAISE EXCEPTION '%', unmet USING ERRCODE = 'NS003'; END IF;
    SELECT count(*) INTO open_ones FROM tasks t WHERE t.id = ANY (p_depends) AND t.status <> 'done';
    SELECT c.id INTO kind FROM classes c WHERE c.share = p_share AND c.needs = p_needs;
    IF kind IS NULL THEN
        INSERT INTO classes (share, needs) VALUES (p_share, p_needs)
            ON CONFLICT (share, needs) DO UPDATE SET share = p_share RETURNING classes.id INTO kind;
    END IF;
    INSERT INTO tasks (key, spec, title, repository, class, priority, status, due, not_before, origin, origin_task,
            created_at)
        VALUES (p_key, p_spec, p_title, p_repository, kind, p_priority,
            CASE WHEN open_ones > 0 THEN 'blocked' ELSE first END,
            p_due, CASE WHEN open_ones = 0 AND p_due > clock_timestamp() THEN p_due END, p_origin, p_origin_task, p_created_at)
        ON CONFLICT (key) DO NOTHING RETURNING * INTO made;
    IF made.id IS NULL THEN
        RETURN QUERY SELECT t.id, t.status, false FROM tasks t WHERE t.key = p_key;
        RETURN;
    END IF;
    INSERT INTO edges (task, needs) SELECT made.id, d FROM unnest(p_depends) AS d ON CONFLICT DO NOTHING;
    INSERT INTO events (task, node, became) VALUES (made.id, p_origin, made.status);
    IF made.status = 'queued' THEN PERFORM pg_notify('nightshift', 'queued'); END IF;
    RETURN QUERY SELECT made.id, made.status, true;
END $$;

-- The next tasks for a node: highest priority first; among equals the class of whose share the fewest run, then the
-- oldest. A probe into the index for each class, whatever waits; rows that others are claiming are skipped.
CREATE FUNCTION claim(p_node text, p_most int) RETURNS SETOF tasks
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE
    has text[];
    running jsonb; -- how many run of each share; looked up, since a join would be planned for the few that ran once
    candidate int;
    chosen tasks;
BEGIN
    SELECT labels INTO has FROM nodes
        WHERE id = p_node AND NOT draining AND lease_until > clock_timestamp();
    IF NOT FOUND OR EXISTS (SELECT 1 FROM pauses) THEN RETURN; END IF;
    SELECT coalesce(jsonb_object_agg(r.share, r.count), '{}') INTO running FROM (
        SELECT c.share, sum(h.count) AS count FROM (SELECT t.class, count(*) AS count FROM tasks t
            WHERE t.status IN ('running', 'waiting') GROUP BY t.class) AS h
        JOIN classes c ON c.id = h.class GROUP BY c.share) AS r;
    FOR turn IN 1 .. p_most LOOP
        chosen := NULL;
        FOR candidate IN
            SELECT c.id FROM classes c
            CROSS JOIN LATERAL (SELECT t.priority, t.id FROM tasks t WHERE t.class = c.id AND t.status = 'queued'
                                ORDER BY t.priority DESC, t.id LIMIT 1) AS head
            WHERE c.needs <@ has ORDER BY head.priority DESC, coalesce((running ->> c.share)::int, 0), head.id
        LOOP
            SELECT * INTO chosen FROM tasks t WHERE t.class = candidate AND t.status = 'queued'
                ORDER BY t.priority DESC, t.id LIMIT 1 FOR UPDATE SKIP LOCKED;
            EXIT WHEN FOUND;
        END LOOP;
        EXIT WHEN chosen.id IS NULL;
        UPDATE tasks SET status = 'running', node = p_node, node_task = NULL, fence = nextval('fences'),
            attempt = attempt + 1, reason = '', claimed_at = clock_timestamp() WHERE id = chosen.id RETURNING * INTO chosen;
        INSERT INTO events (task, node, was, became) VALUES (chosen.id, p_node, 'queued', 'running');
        running := running || (SELECT jsonb_build_object(c.share, coalesce((running ->> c.share)::int, 0) + 1)
            FROM classes c WHERE c.id = chosen.class);
        RETURN NEXT chosen;
    END LOOP;
END $$;

-- The row of a task that this node holds under this fence, locked; none where it does not.
CREATE FUNCTION held(p_task bigint, p_node text, p_fence bigint) RETURNS SETOF tasks LANGUAGE sql AS $$
    SELECT * FROM tasks WHERE id = p_task AND node = p_node AND fence = p_fence AND status IN ('running', 'waiting')
        FOR UPDATE
$$;

CREATE FUNCTION adopted(p_task bigint, p_node text, p_fence bigint, p_node_task bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    UPDATE tasks SET node_task = p_node_task WHERE id IN (SELECT id FROM held(p_task, p_node, p_fence));
    RETURN FOUND;
END $$;

-- Whether a node still holds a task; if so, nobody else can take it for as long as a lease lasts.
CREATE FUNCTION confirm(p_task bigint, p_node text, p_fence bigint, p_lease_s double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
BEGIN
    PERFORM 1 FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE nodes SET lease_until = greatest(lease_until, clock_timestamp() + make_interval(secs => p_lease_s))
        WHERE id = p_node;
    RETURN true;
END $$;

-- Keep the attempt as it is now. Progress forgives earlier crashes.
CREATE FUNCTION keep(p_task bigint, p_node text, p_fence bigint, p_data text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE mine tasks;
BEGIN
    SELECT * INTO mine FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO checkpoints (task, fence, data) VALUES (p_task, p_fence, p_data)
        ON CONFLICT (task) DO UPDATE SET fence = p_fence, data = p_data, at = clock_timestamp();
    IF mine.crashes > 0 THEN UPDATE tasks SET crashes = 0 WHERE id = p_task; END IF;
    RETURN true;
END $$;

CREATE FUNCTION checkpoint(p_task bigint, p_node text, p_fence bigint) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT data FROM checkpoints WHERE task IN (SELECT id FROM held(p_task, p_node, p_fence))
$$;

-- A task that waited for a person goes on where it is: by way of the queue, as the table of moves has it, but for nobody
-- else to see.
CREATE FUNCTION go_on(p_task tasks) RETURNS void LANGUAGE sql AS $$
    UPDATE tasks SET status = 'queued' WHERE id = p_task.id;
    UPDATE tasks SET status = 'running' WHERE id = p_task.id;
    INSERT INTO events (task, node, was, became) VALUES (p_task.id, p_task.node, 'waiting', 'running')
$$;

-- The end of a task, told by the node that holds it. Telling the same again is harmless: the reply may have been lost.
CREATE FUNCTION finish(p_task bigint, p_node text, p_fence bigint, p_status text, p_ending text, p_reason text,
    p_commit text, p_branch text, p_iterations int, p_spent text, p_signature text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE mine tasks;
BEGIN
    IF p_status NOT IN ('done', 'failed', 'cancelled') THEN
        RAISE EXCEPTION 'a task cannot end as %', p_status USING ERRCODE = 'NS001';
    END IF;
    SELECT * INTO mine FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN
        RETURN EXISTS (SELECT 1 FROM tasks WHERE id = p_task AND node = p_node AND fence = p_fence
            AND status = p_status AND ending = p_ending AND commit_id IS NOT DISTINCT FROM p_commit);
    END IF;
    IF mine.status = 'waiting' AND p_status = 'done' THEN
        PERFORM go_on(mine);
        mine.status := 'running';
    END IF;
    UPDATE tasks SET commit_id = p_commit, branch = p_branch, iterations = p_iterations, spent = p_spent,
        signature = p_signature, asks = '' WHERE id = p_task;
    PERFORM move(mine, p_status, p_ending, p_reason, NULL);
    RETURN true;
END $$;

-- Give a task back: queued, or scheduled where there is a time before which no node should take it.
CREATE FUNCTION put_back(p_task bigint, p_node text, p_fence bigint, p_reason text, p_not_before timestamptz)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE mine tasks;
BEGIN
    SELECT * INTO mine FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN
        RETURN EXISTS (SELECT 1 FROM tasks WHERE id = p_task AND node = p_node AND fence = p_fence
            AND status IN ('queued', 'scheduled', 'cancelled'));
    END IF;
    UPDATE tasks SET asks = '' WHERE id = p_task;
    IF mine.cancel_requested THEN
        PERFORM move(mine, 'cancelled', 'user', 'cancelled by its owner', NULL);
    ELSIF p_not_before > clock_timestamp() AND mine.status = 'running' THEN
        PERFORM move(mine, 'scheduled', NULL, p_reason, p_not_before);
    ELSE
        PERFORM move(mine, 'queued', NULL, p_reason, NULL);
    END IF;
    RETURN true;
END $$;

-- A running task waits for a person (p_asks: what it asks, as JSON), or goes on (empty). It stays its node's.
CREATE FUNCTION wait_for_owner(p_task bigint, p_node text, p_fence bigint, p_asks text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE mine tasks;
BEGIN
    SELECT * INTO mine FROM held(p_task, p_node, p_fence);
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE tasks SET asks = p_asks WHERE id = p_task;
    IF p_asks <> '' AND mine.status = 'running' THEN
        PERFORM move(mine, 'waiting', NULL, '', NULL);
    ELSIF p_asks = '' AND mine.status = 'waiting' THEN
        PERFORM go_on(mine);
    END IF;
    RETURN true;
END $$;

-- What owners do, from any node

CREATE FUNCTION cancel(p_task bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE found_one tasks;
BEGIN
    SELECT * INTO found_one FROM tasks WHERE id = p_task FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF found_one.status IN ('running', 'waiting') THEN
        UPDATE tasks SET cancel_requested = true WHERE id = p_task;
        PERFORM pg_notify('nightshift', found_one.node);
        RETURN found_one.status;
    END IF;
    PERFORM move(found_one, 'cancelled', 'user', 'cancelled by its owner', NULL);
    RETURN 'cancelled';
END $$;

CREATE FUNCTION retry(p_task bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE found_one tasks; unmet text;
BEGIN
    -- Nothing that it depends on may end between the look at it and this one's being blocked; before it, as ends lock.
    PERFORM 1 FROM edges e JOIN tasks t ON t.id = e.needs WHERE e.task = p_task ORDER BY t.id FOR SHARE OF t;
    SELECT * INTO found_one FROM tasks WHERE id = p_task FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF found_one.status NOT IN ('failed', 'cancelled') THEN
        RAISE EXCEPTION 'task % is %; only one that failed or was cancelled can be retried', p_task, found_one.status
            USING ERRCODE = 'NS001';
    END IF;
    SELECT string_agg(format('task %s is %s', t.id, t.status), ', ') INTO unmet
        FROM edges e JOIN tasks t ON t.id = e.needs WHERE e.task = p_task AND t.status IN ('failed', 'cancelled');
    IF unmet IS NOT NULL THEN
        RAISE EXCEPTION 'it depends on what has not been done: %', unmet USING ERRCODE = 'NS001';
    END IF;
    UPDATE tasks SET crashes = 0, node = NULL, node_task = NULL, signature = '' WHERE id = p_task RETURNING * INTO found_one;
    IF EXISTS (SELECT 1 FROM edges e JOIN tasks t ON t.id = e.needs WHERE e.task = p_task AND t.status <> 'done') THEN
        PERFORM move(found_one, 'blocked', NULL, 'asked for again', NULL);
    ELSE
        PERFORM move(found_one, 'queued', NULL, 'asked for again', NULL);
    END IF;
    PERFORM tell(found_one.origin, p_task);
    SELECT * INTO found_one FROM tasks WHERE id = p_task;
    RETURN found_one.status;
END $$;

CREATE FUNCTION prioritise(p_task bigint, p_priority int) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE found_one tasks;
BEGIN
    UPDATE tasks SET priority = p_priority WHERE id = p_task AND status <> 'done' RETURNING * INTO found_one;
    PERFORM tell(found_one.origin, p_task) WHERE found_one.id IS NOT NULL;
    RETURN found_one.status;
END $$;

CREATE FUNCTION pause_hub(p_reason text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    DELETE FROM pauses; INSERT INTO pauses (reason) VALUES (p_reason)
$$;

CREATE FUNCTION resume_hub() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    DELETE FROM pauses; SELECT pg_notify('nightshift', 'queued')
$$;

-- What time does; any node may call it, as often as it likes

CREATE FUNCTION sweep(p_most_crashes int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
DECLARE one tasks; moved int := 0;
BEGIN
    FOR one IN SELECT t.* FROM tasks t JOIN nodes n ON n.id = t.node
        WHERE t.status IN ('running', 'waiting') AND n.lease_until < clock_timestamp() FOR UPDATE OF t SKIP LOCKED
    LOOP
        moved := moved + 1;
        UPDATE tasks SET crashes = crashes + (one.status = 'running')::int WHERE id = one.id;
        IF one.cancel_requested THEN
            PERFORM move(one, 'cancelled', 'user', 'cancelled by its owner', NULL);
        ELSIF one.status = 'running' AND one.crashes + 1 >= p_most_crashes THEN
            PERFORM move(one, 'failed', 'crashed', format(
                'set aside: its node was lost %s times while it ran, without progress in between', one.crashes + 1), NULL);
        ELSE
            PERFORM move(one, 'queued', NULL, 'its node was lost', NULL);
        END IF;
    END LOOP;
    FOR one IN SELECT * FROM tasks WHERE status = 'scheduled' AND not_before <= clock_timestamp()
        ORDER BY not_before LIMIT 500 FOR UPDATE SKIP LOCKED
    LOOP
        moved := moved + 1;
        PERFORM move(one, 'queued', NULL, 'due', NULL);
    END LOOP;
    RETURN moved;
END $$;

CREATE FUNCTION news(p_node text, p_most int) RETURNS TABLE (number bigint, task bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    SELECT number, task FROM mailbox WHERE node = p_node ORDER BY number LIMIT p_most
$$;

-- A message that was replaced since it was read stays: its number is another one.
CREATE FUNCTION read_news(p_node text, p_numbers bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift, pg_temp AS $$
    DELETE FROM mailbox WHERE node = p_node AND number = ANY (p_numbers)
$$;

-- What any node may read; fences are for those who hold them.
CREATE VIEW task_list AS
    SELECT t.id, t.key, t.spec, t.title, t.repository, c.share, c.needs, t.priority, t.status, t.ending, t.reason,
        t.attempt, t.crashes, t.node, n.name AS node_name, n.url AS node_url, t.node_task, t.not_before,
        t.due, t.cancel_requested, t.origin, t.origin_task, o.name AS origin_name, o.url AS origin_url, t.commit_id, t.branch,
        t.iterations, t.spent, t.signature, t.asks, t.created_at, t.claimed_at, t.ended_at
    FROM tasks t JOIN classes c ON c.id = t.class JOIN nodes o ON o.id = t.origin LEFT JOIN nodes n ON n.id = t.node;
CREATE VIEW node_list AS
    SELECT n.*, n.lease_until > clock_timestamp() AS is_up,
        extract(epoch FROM clock_timestamp() - n.seen_at) AS unseen_s,
        (SELECT count(*) FROM tasks t WHERE t.node = n.id AND t.status IN ('running', 'waiting')) AS held
    FROM nodes n;
CREATE VIEW option_list AS SELECT name, value FROM options;
CREATE VIEW pause_list AS SELECT reason, at FROM pauses;
CREATE VIEW event_list AS SELECT * FROM events;
