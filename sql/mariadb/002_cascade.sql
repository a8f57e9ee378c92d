-- The rounds of a cascade, set-based and inside the database. The law is that of retrograph.rules:
-- the least fixpoint of rounds, all judged on the severities of the round before.
-- Statements are parted by lines that hold // alone.
--
-- A writer that holds the fleet's clock, in its transaction:
--   CALL cascade_prepare(); fill seed_root, seed_passing, seed_touched;
--   CALL cascade_rounds(tenant, fleet, limit); CALL cascade_impacts(tenant, fleet); read cascade_impact.
-- More than limit impacts: SQLSTATE 45000, RUN_TOO_LARGE. No memory left for the temporary tables: error 1114.
-- Under READ COMMITTED nothing is locked; REPEATABLE READ would lock every row and gap that is looked at.
--
-- All working tables live in memory, belong to the connection, and are made once a run: a round only fills
-- and empties them. The graph is entered by primary key, edge_by_source and edge_by_target alone, whatever the
-- optimizer thinks of a table that is mostly history: hence STRAIGHT_JOIN and FORCE INDEX.
--
-- Validities 1 to 6 have the severities 0, 1, 2, 3, 3, 0; a node raised to severity n has the validity n + 1.
-- Edge types: 1 DERIVED_FROM, 2 REQUIRES, 3 CONTRADICTS, 4 SUPERSEDES, 5 VALID_ONLY_WHEN, 6 SUPPORTED_BY,
-- 7 OBSERVED_FROM. An edge to itself, or one with an end outside the fleet, is never followed.
//
CREATE OR REPLACE PROCEDURE cascade_prepare()
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    -- A table keeps the bound it was made under. A run of a million impacts takes about 200 MB in all.
    DECLARE usual_bound BIGINT UNSIGNED DEFAULT @@SESSION.max_heap_table_size;
    SET SESSION max_heap_table_size = 1073741824;

    -- The seeds: what a root is given; edges over which an unhealthy source passes its severity on although the
    -- run did not raise it; nodes whose content changed, which pass severity 1 on and never rise.
    CREATE OR REPLACE TEMPORARY TABLE seed_root (
        node_id BIGINT NOT NULL PRIMARY KEY, effect SMALLINT NOT NULL
    ) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE seed_passing (
        source_id BIGINT NOT NULL, target_id BIGINT NOT NULL, type SMALLINT NOT NULL,
        PRIMARY KEY (source_id, target_id, type)
    ) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE seed_touched (node_id BIGINT NOT NULL PRIMARY KEY) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE cascade_limit (impacts BIGINT NOT NULL) ENGINE = MEMORY;

    -- Every node raised so far, as of its last rise. given: the validity a root was given, until something else
    -- raises it. cause: NULL for a root. cause_round: the round in which the cause had been raised, NULL if it had
    -- not. depth: that of the cause as it was then, and 1.
    CREATE OR REPLACE TEMPORARY TABLE raised (
        node_id BIGINT NOT NULL PRIMARY KEY,
        severity TINYINT NOT NULL,
        given SMALLINT,
        cause BIGINT,
        cause_round INT,
        depth INT NOT NULL,
        round INT NOT NULL,
        validity SMALLINT NOT NULL,
        projected SMALLINT NOT NULL,
        pinned SMALLINT NOT NULL
    ) ENGINE = MEMORY;
    -- Those raised in the last round.
    CREATE OR REPLACE TEMPORARY TABLE frontier LIKE raised;
    -- What the frontier passes to a target: the greatest effect and its smallest source; the worst severity, at most
    -- 2, among supporters that were raised; whether something that holds it down has died.
    CREATE OR REPLACE TEMPORARY TABLE offer (
        target_id BIGINT NOT NULL PRIMARY KEY,
        effect TINYINT NOT NULL,
        source_id BIGINT NOT NULL,
        support TINYINT NOT NULL DEFAULT 0,
        lifted TINYINT NOT NULL DEFAULT 0
    ) ENGINE = MEMORY;
    -- What the dead held down: awaits another look, unless it is raised itself.
    CREATE OR REPLACE TEMPORARY TABLE awaiting (node_id BIGINT NOT NULL PRIMARY KEY) ENGINE = MEMORY;

    -- For depths that went out of date: an ancestor of each node, and how many steps away it is.
    CREATE OR REPLACE TEMPORARY TABLE chain (
        node_id BIGINT NOT NULL PRIMARY KEY, ancestor BIGINT NOT NULL, length INT NOT NULL
    ) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE numbered (
        node_id BIGINT NOT NULL PRIMARY KEY, ordinal BIGINT NOT NULL
    ) ENGINE = MEMORY;
    -- The result: kinds are 1 CHANGED, 2 PINNED, 3 REEVALUATE; cause is an ordinal, or NULL where the cause has no
    -- impact: origin_id is then its node, if there is one.
    CREATE OR REPLACE TEMPORARY TABLE cascade_impact (
        ordinal BIGINT NOT NULL PRIMARY KEY,
        node_id BIGINT NOT NULL,
        kind SMALLINT NOT NULL,
        before_validity SMALLINT NOT NULL,
        after_validity SMALLINT NOT NULL,
        stored_before SMALLINT NOT NULL,
        stored_after SMALLINT NOT NULL,
        cause BIGINT,
        origin_id BIGINT,
        depth INT NOT NULL
    ) ENGINE = MEMORY;
    CALL cascade_prepare_support();
    SET SESSION max_heap_table_size = usual_bound;
END
//
-- Raises the roots, and lets sources that do not rise themselves pass on what they have.
CREATE OR REPLACE PROCEDURE cascade_sow(IN p_tenant BIGINT, IN p_fleet BIGINT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    INSERT INTO frontier (node_id, severity, given, depth, round, validity, projected, pinned)
    SELECT s.id, LEAST(g.effect - 1, 3), g.effect, 0, 0, s.validity, s.projected, s.pinned
    FROM seed_root AS g
    STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
        ON s.id = g.node_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
    LEFT JOIN seed_touched AS t ON t.node_id = g.node_id
    WHERE t.node_id IS NULL
      AND IF(g.effect = 6, 0, LEAST(g.effect - 1, 3)) > IF(s.projected = 6, 0, LEAST(s.projected - 1, 3));
    INSERT INTO raised SELECT * FROM frontier;

    INSERT INTO offer (target_id, effect, source_id)
    SELECT e.target_id, 1, e.source_id
    FROM seed_touched AS t
    STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_source)
        ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.source_id = t.node_id
    WHERE e.type NOT IN (3, 4) AND e.source_id <> e.target_id
    ON DUPLICATE KEY UPDATE source_id = LEAST(offer.source_id, VALUES(source_id));

    INSERT INTO passing_support (source_id, target_id, severity)
    SELECT p.source_id, p.target_id, LEAST(s.projected - 1, 3)
    FROM seed_passing AS p
    STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_source)
        ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet
        AND e.source_id = p.source_id AND e.target_id = p.target_id AND e.type = 6
    STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
        ON s.id = p.source_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
    WHERE p.type = 6 AND s.projected BETWEEN 2 AND 5 AND p.source_id <> p.target_id;

    INSERT INTO judged (target_id, worst)
    SELECT target_id, LEAST(severity, 2) FROM passing_support
    ON DUPLICATE KEY UPDATE worst = GREATEST(judged.worst, VALUES(worst));

    INSERT INTO offer (target_id, effect, source_id)
    SELECT p.target_id,
           LEAST(LEAST(s.projected - 1, 3), CASE p.type WHEN 1 THEN 2 WHEN 7 THEN 1 ELSE 3 END) AS passed,
           p.source_id
    FROM seed_passing AS p
    STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_source)
        ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet
        AND e.source_id = p.source_id AND e.target_id = p.target_id AND e.type = p.type
    STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
        ON s.id = p.source_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
    WHERE p.type IN (1, 2, 5, 7) AND s.projected BETWEEN 2 AND 5 AND p.source_id <> p.target_id
    ON DUPLICATE KEY UPDATE
        source_id = IF(VALUES(effect) > offer.effect
                       OR VALUES(effect) = offer.effect AND VALUES(source_id) < offer.source_id,
                       VALUES(source_id), offer.source_id),
        effect = GREATEST(offer.effect, VALUES(effect));
END
//
-- To the fixpoint. A round is one pass over the edges out of the frontier, and one over the targets it offers to.
CREATE OR REPLACE PROCEDURE cascade_rounds(IN p_tenant BIGINT, IN p_fleet BIGINT, IN p_limit BIGINT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    DECLARE current_round INT DEFAULT 0;
    DECLARE top_layer INT DEFAULT 0;
    DECLARE top_rank INT DEFAULT 0;
    DECLARE any_support INT DEFAULT 0;
    DECLARE any_lifted INT DEFAULT 0;
    DECLARE any_judged INT DEFAULT 0;

    INSERT INTO cascade_limit VALUES (p_limit);
    CALL cascade_sow(p_tenant, p_fleet);
    rounds: LOOP
        IF (SELECT COUNT(*) FROM raised) > p_limit THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'RUN_TOO_LARGE';
        END IF;
        SET current_round = current_round + 1;
        -- What CONTRADICTS and SUPERSEDES pass is 0: news to no target that was raised.
        INSERT INTO offer (target_id, effect, source_id, support, lifted)
        SELECT p.target_id, IF(p.type = 6, 0, p.passed), p.source_id, IF(p.type = 6, p.passed, 0), p.passed = 0
        FROM (
            SELECT e.target_id, e.type, e.source_id,
                   LEAST(f.severity, CASE e.type WHEN 1 THEN 2 WHEN 6 THEN 2 WHEN 7 THEN 1 WHEN 3 THEN 0
                                                 WHEN 4 THEN 0 ELSE 3 END) AS passed
            FROM frontier AS f
            STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_source)
                ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.source_id = f.node_id
            WHERE e.target_id <> e.source_id AND (e.type NOT IN (3, 4) OR f.severity = 3)
        ) AS p
        LEFT JOIN raised AS t ON t.node_id = p.target_id
        WHERE t.severity IS NULL OR t.severity < p.passed
        ON DUPLICATE KEY UPDATE
            source_id = IF(VALUES(effect) > offer.effect
                           OR VALUES(effect) = offer.effect AND VALUES(source_id) < offer.source_id,
                           VALUES(source_id), offer.source_id),
            effect = GREATEST(offer.effect, VALUES(effect)),
            support = GREATEST(offer.support, VALUES(support)),
            lifted = GREATEST(offer.lifted, VALUES(lifted));

        SELECT MAX(support), MAX(lifted), (SELECT COUNT(*) FROM judged)
        INTO any_support, any_lifted, any_judged FROM offer;
        IF any_lifted THEN
            INSERT IGNORE INTO awaiting SELECT target_id FROM offer WHERE lifted;
        END IF;
        IF any_support THEN
            INSERT INTO judged (target_id, worst)
            SELECT target_id, support FROM offer WHERE support > 0 AND effect < 3
            ON DUPLICATE KEY UPDATE worst = GREATEST(judged.worst, VALUES(worst));
        END IF;
        IF any_support OR any_judged THEN
            CALL cascade_judge(p_tenant, p_fleet, top_layer, top_rank);
        END IF;

        DELETE FROM frontier;
        INSERT INTO frontier
            (node_id, severity, cause, cause_round, depth, round, validity, projected, pinned)
        SELECT o.target_id, o.effect, o.source_id, c.round, COALESCE(c.depth, 0) + 1, current_round,
               s.validity, s.projected, s.pinned
        FROM offer AS o
        STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
            ON s.id = o.target_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
        LEFT JOIN raised AS r ON r.node_id = o.target_id
        LEFT JOIN raised AS c ON c.node_id = o.source_id
        LEFT JOIN seed_touched AS t ON t.node_id = o.target_id
        WHERE o.effect > COALESCE(r.severity, IF(s.projected = 6, 0, LEAST(s.projected - 1, 3)))
          AND t.node_id IS NULL;
        IF ROW_COUNT() = 0 THEN
            LEAVE rounds;
        END IF;
        DELETE FROM offer;
        INSERT INTO raised SELECT * FROM frontier AS f
        ON DUPLICATE KEY UPDATE severity = f.severity, given = NULL, cause = f.cause,
            cause_round = f.cause_round, depth = f.depth, round = f.round;
        IF top_layer > 0 THEN
            CALL cascade_unsettle(p_tenant, p_fleet, top_rank);
        END IF;
    END LOOP;
END
//
-- Turns what was raised into the impacts of the run, one a node, by depth and node id: fills cascade_impact.
CREATE OR REPLACE PROCEDURE cascade_impacts(IN p_tenant BIGINT, IN p_fleet BIGINT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    -- A depth is out of date if the cause was raised again since, or so was anything further up.
    IF EXISTS (
        SELECT 1 FROM raised AS r STRAIGHT_JOIN raised AS c ON c.node_id = r.cause WHERE c.round <> r.cause_round
    ) THEN
        CALL cascade_measure();
    END IF;
    -- From here on raised holds all impacts; severity 0 marks those that were not raised. An invalid root only
    -- becomes superseded.
    INSERT INTO raised (node_id, severity, given, depth, round, validity, projected, pinned)
    SELECT s.id, 0, g.effect, 0, 0, s.validity, s.projected, s.pinned
    FROM seed_root AS g
    STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
        ON s.id = g.node_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
    LEFT JOIN seed_touched AS t ON t.node_id = g.node_id
    WHERE g.effect = 5 AND s.projected = 4 AND t.node_id IS NULL;
    -- What the dead held down awaits another look because of the nearest of them, among equals the smallest.
    INSERT INTO raised (node_id, severity, given, cause, cause_round, depth, round, validity, projected, pinned)
    SELECT s.id, 0, s.projected, c.node_id, c.round, c.depth + 1, 0, s.validity, s.projected, s.pinned
    FROM (
        SELECT a.node_id,
               (SELECT e.source_id
                FROM edge AS e FORCE INDEX (edge_by_target)
                STRAIGHT_JOIN raised AS d ON d.node_id = e.source_id AND d.severity = 3
                WHERE e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = a.node_id
                  AND e.type IN (3, 4)
                ORDER BY d.depth, e.source_id LIMIT 1) AS nearest
        FROM awaiting AS a
    ) AS h
    STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
        ON s.id = h.node_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
    STRAIGHT_JOIN raised AS c ON c.node_id = h.nearest
    LEFT JOIN raised AS r ON r.node_id = s.id
    LEFT JOIN seed_touched AS t ON t.node_id = s.id
    WHERE s.projected BETWEEN 2 AND 5 AND r.node_id IS NULL AND t.node_id IS NULL;
    IF (SELECT COUNT(*) FROM raised) > (SELECT impacts FROM cascade_limit) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'RUN_TOO_LARGE';
    END IF;

    INSERT INTO numbered (node_id, ordinal)
    SELECT node_id, ROW_NUMBER() OVER (ORDER BY depth, node_id) - 1 FROM raised;
    INSERT INTO cascade_impact
        (ordinal, node_id, kind, before_validity, after_validity, stored_before, stored_after, cause, origin_id, depth)
    SELECT i.ordinal, i.node_id, i.kind, i.projected, i.after_validity, i.validity,
           IF(i.kind = 1, i.after_validity, i.validity),
           c.ordinal, IF(i.cause_round IS NULL, i.cause, NULL), i.depth
    FROM (
        SELECT n.ordinal, r.*, COALESCE(r.given, r.severity + 1) AS after_validity,
               CASE WHEN r.severity = 0 AND r.cause IS NOT NULL THEN 3 WHEN r.pinned = 1 THEN 2 ELSE 1 END AS kind
        FROM numbered AS n STRAIGHT_JOIN raised AS r ON r.node_id = n.node_id
    ) AS i
    LEFT JOIN numbered AS c ON c.node_id = i.cause AND i.cause_round IS NOT NULL;
END
//
-- Measures the chains of causes anew, all at once: each step doubles what a pointer spans.
CREATE OR REPLACE PROCEDURE cascade_measure()
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    -- A chain ends at a root, or at a node whose cause had not been raised and is a step away.
    INSERT INTO chain (node_id, ancestor, length)
    SELECT node_id, IF(cause_round IS NULL, node_id, cause), cause IS NOT NULL FROM raised;
    REPEAT
        UPDATE chain AS c STRAIGHT_JOIN chain AS a ON a.node_id = c.ancestor
        SET c.length = c.length + a.length, c.ancestor = a.ancestor
        WHERE a.ancestor <> a.node_id;
    UNTIL ROW_COUNT() = 0 END REPEAT;
    UPDATE chain AS c
    STRAIGHT_JOIN chain AS a ON a.node_id = c.ancestor
    STRAIGHT_JOIN raised AS r ON r.node_id = c.node_id
    SET r.depth = c.length + IF(a.node_id = c.node_id, 0, a.length);
END
//
