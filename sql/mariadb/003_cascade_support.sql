-- The SUPPORTED_BY edges of a cascade: what is left of the supporters of a target, round by round.
-- A target hears the least severity among its supporters, at most 2, where none of them stands; where one stands,
-- a supporter of severity 2 or more passes 1. Statements are parted by lines that hold // alone.
//
CREATE OR REPLACE PROCEDURE cascade_prepare_support()
SQL SECURITY INVOKER
MODIFIES SQL DATA
BEGIN
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
