-- name: KeepEndpointCheck :none
INSERT INTO ledger.endpoint_checks (tenant, endpoint, name, ok, detail)
VALUES (%(tenant)s, %(endpoint)s, %(name)s, %(ok)s, %(detail)s)
ON CONFLICT (tenant, endpoint, name)
DO UPDATE SET ok = excluded.ok, detail = excluded.detail, checked_at = clock_timestamp();

-- name: EndpointChecks :many
SELECT name, ok, detail, checked_at FROM ledger.endpoint_checks
 WHERE tenant = %(tenant)s AND endpoint = %(endpoint)s
 ORDER BY name;
