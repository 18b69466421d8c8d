-- name: TryMigrationLock :one
SELECT pg_try_advisory_lock(hashtextextended('perdure migrations', 0)) AS answer;

-- name: ReleaseMigrationLock :one
SELECT pg_advisory_unlock(hashtextextended('perdure migrations', 0)) AS answer;

-- name: HasMigrations :one
SELECT to_regclass('ledger.schema_expansions') IS NOT NULL AS answer;

-- name: CreateSchema :none
CREATE SCHEMA IF NOT EXISTS ledger;
CREATE TABLE IF NOT EXISTS ledger.schema_migrations (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    sha256     text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE IF NOT EXISTS ledger.schema_expansions (LIKE ledger.schema_migrations INCLUDING ALL);

-- name: AppliedMigrations :many
SELECT version, sha256, false AS expands FROM ledger.schema_migrations
UNION ALL
SELECT version, sha256, true FROM ledger.schema_expansions;

-- name: RecordMigration :none
INSERT INTO ledger.schema_migrations (version, name, sha256) VALUES (%(version)s, %(name)s, %(sha256)s);

-- name: RecordExpansion :none
INSERT INTO ledger.schema_expansions (version, name, sha256) VALUES (%(version)s, %(name)s, %(sha256)s);
