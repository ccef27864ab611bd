//! What is asked by record, session or name is answered by an index, however much the tenant has. How SQLite answers is
//! tested beside its statements.

use crate::common::Home;
use tenure_store::POSTGRES_LOOKUPS;

/// Rows of one tenant, many for each kind.
const ROWS: &str = "
INSERT INTO tenants (tenant, version, at, key) VALUES ('acme', 1, 1, '\\x00');
INSERT INTO records (tenant, record, compiled_at, body)
  SELECT 'acme', 'gw-' || n, n, '{\"session\":\"s-' || n % 500 || '\"}' FROM generate_series(1, 20000) AS n;
INSERT INTO record_objects (tenant, object, record)
  SELECT 'acme', lpad(to_hex(n % 1000), 32, '0')::uuid, 'gw-' || n / 20 FROM generate_series(0, 399999) AS n;
INSERT INTO entries (tenant, log, number, body)
  SELECT 'acme', 'log-' || n % 50, n / 50 + 1, '{}' FROM generate_series(0, 49999) AS n;
INSERT INTO objects (tenant, object, place, name, head, changed, labels)
  SELECT 'acme', lpad(to_hex(n), 32, '0')::uuid, n, 'n-' || n, '\\x00', 1, '' FROM generate_series(0, 19999) AS n;
ANALYZE;";

#[test]
fn postgresql_reads_by_index_what_is_asked_by_record_session_or_name() {
    let home = Home::postgresql();
    home.sql(ROWS).unwrap();
    let mut client = home.administrator();
    let as_the_store = "SET search_path TO tenure; SET ROLE tenure_app; \
                        SELECT set_config('tenure.tenant', 'acme', false)";
    client.batch_execute(as_the_store).unwrap();
    for (statement, index, values) in POSTGRES_LOOKUPS {
        let mut asked = statement.replace("$1", "'acme'");
        for (at, value) in (2..).zip(*values) {
            asked = asked.replace(&format!("${at}"), value);
        }
        let plan = client.query(&format!("EXPLAIN {asked}"), &[]).unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(
            plan.contains(index) && !plan.contains("Seq Scan"),
            "{statement}\n{plan}"
        );
    }
}
