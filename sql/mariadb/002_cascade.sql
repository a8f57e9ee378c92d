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
    -- A run of a million impacts takes a few hundred megabytes.
    SET SESSION max_heap_table_size = 4294967296;

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
    CREATE OR REPLACE TEMPORARY TABLE awaiting (node_id BIGINT NOT NULL PRIMARY KEY) ENGINE = MEMORY;

    -- Supporters that pass their severity on unraised.
    CREATE OR REPLACE TEMPORARY TABLE passing_support (
        source_id BIGINT NOT NULL, target_id BIGINT NOT NULL, severity TINYINT NOT NULL,
        PRIMARY KEY (source_id, target_id)
    ) ENGINE = MEMORY;
    -- The targets of SUPPORTED_BY to judge in a round, and what is known of all that ever were: severity, worst raised
    -- supporter, smallest mild supporter (severity 0 or 1) and smallest that stands. Neither ever gets smaller, so
    -- the search goes on where it ended, and a target with many supporters is cheap.
    CREATE OR REPLACE TEMPORARY TABLE judged (
        target_id BIGINT NOT NULL PRIMARY KEY, worst TINYINT NOT NULL
    ) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE dependent (
        target_id BIGINT NOT NULL PRIMARY KEY,
        severity TINYINT NOT NULL,
        worst TINYINT NOT NULL,
        mild BIGINT,
        standing BIGINT
    ) ENGINE = MEMORY;
    -- Healthy nodes whose standing is known, by the layer in which they were met on the way up to grounds (what
    -- stands without a supporter). standing_rank 0: does not stand. Who stands by others has a witness, the smallest
    -- supporter that stands with a lower rank: as long as there is one, it stands, whatever circles it is part of.
    CREATE OR REPLACE TEMPORARY TABLE support (
        node_id BIGINT NOT NULL PRIMARY KEY,
        layer INT NOT NULL,
        grounded TINYINT NOT NULL,
        standing_rank INT NOT NULL DEFAULT 0,
        witness BIGINT,
        KEY support_by_layer (layer) USING BTREE,
        KEY support_by_rank (standing_rank) USING BTREE
    ) ENGINE = MEMORY;
    -- Nodes about to stand; nodes whose witness was lost, with the next; nodes that lost their standing, in waves.
    CREATE OR REPLACE TEMPORARY TABLE wave (
        node_id BIGINT NOT NULL PRIMARY KEY, witness BIGINT
    ) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE shaken LIKE wave;
    CREATE OR REPLACE TEMPORARY TABLE lost (
        node_id BIGINT NOT NULL PRIMARY KEY, step INT NOT NULL, KEY lost_by_step (step) USING BTREE
    ) ENGINE = MEMORY;

    CREATE OR REPLACE TEMPORARY TABLE chain (
        node_id BIGINT NOT NULL PRIMARY KEY, ancestor BIGINT NOT NULL, length INT NOT NULL
    ) ENGINE = MEMORY;
    CREATE OR REPLACE TEMPORARY TABLE numbered (
        node_id BIGINT NOT NULL PRIMARY KEY, ordinal BIGINT NOT NULL
    ) ENGINE = MEMORY;
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
-- Offers to the judged what SUPPORTED_BY passes to them. None of severity 2 and above is asked: it passes 2 at most.
CREATE OR REPLACE PROCEDURE cascade_judge(
    IN p_tenant BIGINT, IN p_fleet BIGINT, INOUT p_layer INT, INOUT p_rank INT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    INSERT INTO dependent (target_id, severity, worst, mild, standing)
    SELECT j.target_id,
           COALESCE(r.severity, IF(s.projected = 6, 0, LEAST(s.projected - 1, 3))),
           GREATEST(j.worst, COALESCE(d.worst, 0)),
           (SELECT e.source_id
            FROM edge AS e FORCE INDEX (edge_by_target)
            LEFT JOIN raised AS u ON u.node_id = e.source_id
            STRAIGHT_JOIN node_state AS o FORCE INDEX (PRIMARY)
                ON o.id = e.source_id AND o.tenant_id = p_tenant AND o.fleet_id = p_fleet
            WHERE e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = j.target_id AND e.type = 6
              AND e.source_id >= COALESCE(d.mild, -9223372036854775808) AND e.source_id <> e.target_id
              AND (u.severity IS NULL OR u.severity = 1) AND (u.severity IS NOT NULL OR o.projected IN (1, 2, 6))
            ORDER BY e.source_id LIMIT 1),
           d.standing
    FROM judged AS j
    STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
        ON s.id = j.target_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
    LEFT JOIN raised AS r ON r.node_id = j.target_id
    LEFT JOIN seed_touched AS t ON t.node_id = j.target_id
    LEFT JOIN dependent AS d ON d.target_id = j.target_id
    WHERE t.node_id IS NULL AND COALESCE(r.severity, IF(s.projected = 6, 0, LEAST(s.projected - 1, 3))) < 2
    ON DUPLICATE KEY UPDATE severity = VALUES(severity), worst = VALUES(worst), mild = VALUES(mild);

    -- Whether some supporter stands matters to a healthy target that has a mild one.
    IF EXISTS (
        SELECT 1 FROM judged AS j JOIN dependent AS d ON d.target_id = j.target_id
        WHERE d.severity = 0 AND d.mild IS NOT NULL
    ) THEN
        CALL cascade_explore(p_tenant, p_fleet, p_layer, p_rank);
        INSERT INTO dependent (target_id, severity, worst, standing)
        SELECT d.target_id, d.severity, d.worst,
               (SELECT e.source_id
                FROM edge AS e FORCE INDEX (edge_by_target)
                STRAIGHT_JOIN support AS n ON n.node_id = e.source_id AND n.standing_rank > 0
                WHERE e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = d.target_id AND e.type = 6
                  AND e.source_id >= COALESCE(d.standing, -9223372036854775808) AND e.source_id <> e.target_id
                ORDER BY e.source_id LIMIT 1)
        FROM judged AS j
        STRAIGHT_JOIN dependent AS d ON d.target_id = j.target_id
        WHERE d.severity = 0 AND d.mild IS NOT NULL
        ON DUPLICATE KEY UPDATE standing = VALUES(standing);
    END IF;

    -- The cause is the smallest supporter that was raised or passes on; of severity 2, where another one stands.
    INSERT INTO offer (target_id, effect, source_id)
    SELECT v.target_id, v.effect,
           (SELECT e.source_id
            FROM edge AS e FORCE INDEX (edge_by_target)
            LEFT JOIN raised AS u ON u.node_id = e.source_id
            LEFT JOIN passing_support AS p ON p.source_id = e.source_id AND p.target_id = e.target_id
            WHERE e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = v.target_id AND e.type = 6
              AND e.source_id <> e.target_id AND COALESCE(u.severity, p.severity) >= v.least
            ORDER BY e.source_id LIMIT 1) AS cause
    FROM (
        SELECT d.target_id, d.severity, IF(d.standing IS NULL, 1, 2) AS least,
               CASE WHEN d.mild IS NULL THEN 2 WHEN d.worst = 2 OR d.standing IS NULL THEN 1 ELSE 0 END AS effect
        FROM judged AS j STRAIGHT_JOIN dependent AS d ON d.target_id = j.target_id
    ) AS v
    WHERE v.effect > v.severity
    ON DUPLICATE KEY UPDATE
        source_id = IF(VALUES(effect) > offer.effect
                       OR VALUES(effect) = offer.effect AND VALUES(source_id) < offer.source_id,
                       VALUES(source_id), offer.source_id),
        effect = GREATEST(offer.effect, VALUES(effect));
    DELETE FROM judged;
END
//
-- Makes known which healthy supporters of the judged stand: looks at them, and up to grounds at theirs.
CREATE OR REPLACE PROCEDURE cascade_explore(
    IN p_tenant BIGINT, IN p_fleet BIGINT, INOUT p_layer INT, INOUT p_rank INT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    DECLARE known_layer INT DEFAULT p_layer;
    DELETE FROM wave;
    INSERT INTO wave (node_id)
    SELECT DISTINCT e.source_id
    FROM judged AS j
    STRAIGHT_JOIN dependent AS d ON d.target_id = j.target_id AND d.severity = 0 AND d.mild IS NOT NULL
    STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_target)
        ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = j.target_id AND e.type = 6
    LEFT JOIN support AS known ON known.node_id = e.source_id
    LEFT JOIN raised AS r ON r.node_id = e.source_id
    WHERE known.node_id IS NULL AND r.node_id IS NULL AND e.source_id <> e.target_id;
    upward: LOOP
        IF ROW_COUNT() = 0 THEN
            LEAVE upward;
        END IF;
        INSERT INTO support (node_id, layer, grounded)
        SELECT s.id, p_layer + 1,
               s.projected = 6 OR s.pinned = 1 OR NOT EXISTS (
                   SELECT 1
                   FROM edge AS e FORCE INDEX (edge_by_target)
                   STRAIGHT_JOIN node_state AS o FORCE INDEX (PRIMARY)
                       ON o.id = e.source_id AND o.tenant_id = p_tenant AND o.fleet_id = p_fleet
                   WHERE e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = s.id AND e.type = 6
                     AND e.source_id <> e.target_id)
        FROM wave AS w
        STRAIGHT_JOIN node_state AS s FORCE INDEX (PRIMARY)
            ON s.id = w.node_id AND s.tenant_id = p_tenant AND s.fleet_id = p_fleet
        WHERE s.projected IN (1, 6);
        IF ROW_COUNT() = 0 THEN
            LEAVE upward;
        END IF;
        SET p_layer = p_layer + 1;
        DELETE FROM wave;
        INSERT INTO wave (node_id)
        SELECT DISTINCT e.source_id
        FROM support AS n FORCE INDEX (support_by_layer)
        STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_target)
            ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = n.node_id AND e.type = 6
        LEFT JOIN support AS known ON known.node_id = e.source_id
        LEFT JOIN raised AS r ON r.node_id = e.source_id
        WHERE n.layer = p_layer AND n.grounded = 0
          AND known.node_id IS NULL AND r.node_id IS NULL AND e.source_id <> e.target_id;
    END LOOP;
    IF p_layer > known_layer THEN
        DELETE FROM wave;
        INSERT INTO wave (node_id, witness)
        SELECT n.node_id, NULL FROM support AS n FORCE INDEX (support_by_layer)
        WHERE n.layer > known_layer AND n.grounded = 1;
        INSERT INTO wave (node_id, witness)
        SELECT n.node_id, MIN(e.source_id)
        FROM support AS n FORCE INDEX (support_by_layer)
        STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_target)
            ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = n.node_id AND e.type = 6
        STRAIGHT_JOIN support AS known ON known.node_id = e.source_id AND known.standing_rank > 0
        WHERE n.layer > known_layer AND n.grounded = 0 AND e.source_id <> e.target_id
        GROUP BY n.node_id;
        CALL cascade_stand(p_tenant, p_fleet, p_rank);
    END IF;
END
//
-- Lets the wave stand, then whoever is known and stands by it, rank by rank.
CREATE OR REPLACE PROCEDURE cascade_stand(IN p_tenant BIGINT, IN p_fleet BIGINT, INOUT p_rank INT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    standing: LOOP
        SET p_rank = p_rank + 1;
        UPDATE wave AS w STRAIGHT_JOIN support AS n ON n.node_id = w.node_id
        SET n.standing_rank = p_rank, n.witness = w.witness;
        DELETE FROM wave;
        INSERT INTO wave (node_id, witness)
        SELECT n.node_id, MIN(e.source_id)
        FROM support AS s FORCE INDEX (support_by_rank)
        STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_source)
            ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.source_id = s.node_id
        STRAIGHT_JOIN support AS n ON n.node_id = e.target_id AND n.standing_rank = 0
        WHERE s.standing_rank = p_rank AND e.type = 6 AND e.source_id <> e.target_id
        GROUP BY n.node_id;
        IF ROW_COUNT() = 0 THEN
            LEAVE standing;
        END IF;
    END LOOP;
END
//
-- Takes their standing from the nodes that were raised, and from all that stood on nothing else; judges anew
-- the targets that counted on them.
CREATE OR REPLACE PROCEDURE cascade_unsettle(IN p_tenant BIGINT, IN p_fleet BIGINT, INOUT p_rank INT)
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
    DECLARE current_step INT DEFAULT 0;
    DELETE FROM lost;
    INSERT INTO lost (node_id, step)
    SELECT f.node_id, 0 FROM frontier AS f STRAIGHT_JOIN support AS n ON n.node_id = f.node_id
    WHERE n.standing_rank > 0;
    SET current_step = IF(ROW_COUNT() > 0, 0, -1);
    DELETE n FROM frontier AS f STRAIGHT_JOIN support AS n ON n.node_id = f.node_id;
    IF current_step = 0 THEN
        falling: LOOP
            DELETE FROM shaken;
            INSERT INTO shaken (node_id, witness)
            SELECT n.node_id,
                   (SELECT e.source_id
                    FROM edge AS e FORCE INDEX (edge_by_target)
                    STRAIGHT_JOIN support AS o ON o.node_id = e.source_id
                    WHERE e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = n.node_id
                      AND e.type = 6 AND e.source_id > n.witness AND e.source_id <> e.target_id
                      AND o.standing_rank > 0 AND o.standing_rank < n.standing_rank
                    ORDER BY e.source_id LIMIT 1)
            FROM lost AS l FORCE INDEX (lost_by_step)
            STRAIGHT_JOIN edge AS d FORCE INDEX (edge_by_source)
                ON d.tenant_id = p_tenant AND d.fleet_id = p_fleet AND d.source_id = l.node_id
            STRAIGHT_JOIN support AS n ON n.node_id = d.target_id AND n.witness = l.node_id
            WHERE l.step = current_step AND d.type = 6 AND d.source_id <> d.target_id AND n.standing_rank > 0;
            UPDATE shaken AS k STRAIGHT_JOIN support AS n ON n.node_id = k.node_id
            SET n.standing_rank = IF(k.witness IS NULL, 0, n.standing_rank), n.witness = k.witness;
            INSERT INTO lost (node_id, step) SELECT node_id, current_step + 1 FROM shaken WHERE witness IS NULL;
            IF ROW_COUNT() = 0 THEN
                LEAVE falling;
            END IF;
            SET current_step = current_step + 1;
        END LOOP;
        IF current_step > 0 THEN
            DELETE FROM wave;
            INSERT INTO wave (node_id, witness)
            SELECT n.node_id, MIN(e.source_id)
            FROM lost AS l
            STRAIGHT_JOIN support AS n ON n.node_id = l.node_id
            STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_target)
                ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.target_id = n.node_id AND e.type = 6
            STRAIGHT_JOIN support AS o ON o.node_id = e.source_id AND o.standing_rank > 0
            WHERE e.source_id <> e.target_id
            GROUP BY n.node_id;
            IF ROW_COUNT() > 0 THEN
                CALL cascade_stand(p_tenant, p_fleet, p_rank);
            END IF;
        END IF;
        INSERT INTO judged (target_id, worst)
        SELECT d.target_id, d.worst
        FROM lost AS l
        LEFT JOIN support AS n ON n.node_id = l.node_id AND n.standing_rank > 0
        STRAIGHT_JOIN edge AS e FORCE INDEX (edge_by_source)
            ON e.tenant_id = p_tenant AND e.fleet_id = p_fleet AND e.source_id = l.node_id
        STRAIGHT_JOIN dependent AS d ON d.target_id = e.target_id AND d.standing = l.node_id
        WHERE e.type = 6 AND e.source_id <> e.target_id AND n.node_id IS NULL;
    END IF;
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
    -- Invalid roots only become superseded.
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
