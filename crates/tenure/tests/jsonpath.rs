//! JSONPath against the compliance test suite of its standard (`tests/fixtures/jsonpath/`, from
//! jsonpath-standard/jsonpath-compliance-test-suite, under the BSD-2 licence beside it), and queries that explode.

use serde_json::Value;
use tenure::package::JsonPath;

#[test]
fn the_compliance_test_suite_is_passed() {
    let suite = include_str!("fixtures/jsonpath/cts.jsonl");
    let mut wrong = Vec::new();
    let mut ran = 0;
    for line in suite.lines() {
        let test: Value = serde_json::from_str(line).unwrap();
        let (name, selector) = (&test["name"], test["selector"].as_str().unwrap());
        ran += 1;
        let query = JsonPath::new(selector);
        if test["invalid_selector"] == true {
            if query.is_ok() {
                wrong.push(format!("{name}: `{selector}` is accepted"));
            }
            continue;
        }
        let found = query.and_then(|query| {
            let found = query.find(&test["document"])?;
            Ok(Value::Array(
                found.into_iter().map(|(_, value)| value.clone()).collect(),
            ))
        });
        let is_right = found.as_ref().is_ok_and(|found| {
            let mut any = test["results"].as_array().into_iter().flatten();
            *found == test["result"] || any.any(|result| result == found)
        });
        if !is_right {
            wrong.push(format!("{name}: `{selector}` gives {found:?}"));
        }
    }
    assert!(ran > 700, "{ran}");
    assert!(
        wrong.is_empty(),
        "{} of {ran}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn queries_that_explode_end_with_an_error() {
    let mut deep = Value::from(1);
    for _ in 0..100 {
        deep = serde_json::json!([deep.clone(), deep.get(0).cloned().unwrap_or(Value::Null)]);
        if deep.to_string().len() > 20_000 {
            break;
        }
    }
    let wide = Value::from(vec![vec![1; 300]; 300]);
    for selector in [
        "$..[?count($..*) > 3]",
        "$..[?$..[?@ > 0]]",
        "$..*..*..*..*..*",
    ] {
        let query = JsonPath::new(selector).unwrap();
        let error = query.find(&wide).unwrap_err();
        assert!(
            error.what.contains("looks at more than"),
            "{selector}: {error}"
        );
        let _ = query.find(&deep);
    }
    assert!(JsonPath::new(&format!("$[?{}@{}]", "(".repeat(5_000), ")".repeat(5_000))).is_err());
    assert!(JsonPath::new(&format!("${}", "[0]".repeat(5_000))).is_err());
    assert!(JsonPath::new(&format!("$[?{}@]", "!".repeat(1_000))).is_err());
    let nested = format!("${}", "[?@".repeat(200));
    assert!(JsonPath::new(&nested).is_err());
}

/// Steps to a node are shared on the way, and written out for what is found: what a query costs is what it looks at.
#[test]
fn a_query_that_finds_each_node_many_times_stops_at_its_limit() {
    let mut deep = serde_json::json!("x".repeat(200));
    for _ in 0..120 {
        deep = serde_json::json!({ "a long name of a member": [deep, 1, 2, 3], "b": {} });
    }
    let started = std::time::Instant::now();
    for query in [
        "$..*..*",
        "$..*..*..*",
        "$..[?@..*]",
        "$..[?@ == $]",
        "$..[?search(@, 'x+y')]",
    ] {
        let _ = JsonPath::new(query).unwrap().find(&deep);
    }
    let wide: Value = (0..20_000).map(|at| serde_json::json!([at])).collect();
    let all = JsonPath::new("$[?$[*]]").unwrap().find(&wide);
    assert!(all.unwrap_err().what.contains("more than"));
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}
