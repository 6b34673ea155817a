-- Vectors of lessons, one for each embedder, where the server has pgvector; each time the schema is brought up to date.
-- Types and operators are named with the schema of the extension ({0}): the functions trust no other.

CREATE TABLE IF NOT EXISTS lesson_vectors (
    embedder text NOT NULL CHECK (length(embedder) <= 200),
    dims int NOT NULL,
    kind text NOT NULL,
    key text NOT NULL REFERENCES lessons (key) ON DELETE CASCADE,
    vector {0}.vector NOT NULL,
    PRIMARY KEY (embedder, dims, kind, key),
    CHECK ({0}.vector_dims(vector) = dims)
);
ALTER TABLE lesson_vectors ALTER COLUMN vector SET STORAGE PLAIN; -- a search reads every one of them

-- Lessons that nobody has sent a vector of, from a number on.
CREATE OR REPLACE FUNCTION lessons_without_vector(p_embedder text, p_dims int, p_number bigint, p_most int)
RETURNS TABLE (number bigint, key text)
LANGUAGE sql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
    SELECT l.number, l.key FROM lessons l WHERE l.number > p_number
        AND NOT EXISTS (SELECT 1 FROM lesson_vectors v WHERE v.embedder = p_embedder AND v.dims = p_dims AND v.key = l.key)
        AND NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = l.key)
    ORDER BY l.number LIMIT p_most
$$;

-- The first vector of a lesson stays.
CREATE OR REPLACE FUNCTION share_vectors(p_node text, p_embedder text, p_dims int, p_kind text, p_keys text[], p_vectors text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
BEGIN
    PERFORM begin_sharing();
    INSERT INTO lesson_vectors (embedder, dims, kind, key, vector)
        SELECT p_embedder, p_dims, p_kind, o.key, o.vector::{0}.vector
        FROM unnest(p_keys, p_vectors) AS o (key, vector) JOIN lessons l ON l.key = o.key
        WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = o.key)
        ON CONFLICT DO NOTHING;
END $$;

-- The nearest, each compared, and all that are as near as the last of them but for rounding. Vectors have length 1, so
-- that their product is the cosine, also where one is of zeros alone.
CREATE OR REPLACE FUNCTION nearest_vectors(p_embedder text, p_dims int, p_kind text, p_vector text, p_limit int, p_most int)
RETURNS TABLE (key text, vector real[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = nightshift_shared, pg_temp AS $$
    WITH asked AS MATERIALIZED (SELECT p_vector::{0}.vector AS vector), -- read once, not for each row
    compared AS MATERIALIZED (
        SELECT v.key, v.vector OPERATOR({0}.<#>) asked.vector AS distance FROM lesson_vectors v CROSS JOIN asked
        WHERE v.embedder = p_embedder AND v.dims = p_dims AND v.kind = p_kind
            AND NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.kind = 'lesson' AND f.key = v.key)),
    last AS (SELECT max(n.distance) AS distance FROM (SELECT c.distance FROM compared c ORDER BY 1 LIMIT p_limit) n)
    SELECT v.key, v.vector::real[] FROM lesson_vectors v
    WHERE v.embedder = p_embedder AND v.dims = p_dims AND v.kind = p_kind
        -- An array and no join: this is quick also where the planner knows nothing of the table yet.
        AND v.key = ANY (ARRAY (SELECT c.key FROM compared c CROSS JOIN last
            WHERE c.distance <= last.distance + 1e-5 ORDER BY c.distance LIMIT p_most))
$$;
