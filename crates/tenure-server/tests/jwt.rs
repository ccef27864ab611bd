//! Tokens of an identity provider: real keys, real signatures, and whoever would like to be let in.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::{Bench, Reply, Upstream, answer};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};
use ring::{digest, hmac};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use tenure_server::{Jwt, Options, Server};
use tenure_workspace::keys::{Grant, Keys};

const ISSUER: &str = "https://id.example.com/";

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn seconds() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    elapsed.as_secs() as i64
}

// --- the issuer -----------------------------------------------------------------------------------

/// A key of an issuer.
enum Signer {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    fn rsa() -> Signer {
        let PrivateKeyDer::Pkcs8(key) =
            PrivateKeyDer::from_pem_slice(file("jwt/rsa.key.pem").as_bytes()).unwrap()
        else {
            panic!("the key is of another form")
        };
        Signer::Rsa(RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap())
    }

    fn ec() -> Signer {
        let (form, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(form, &random).unwrap();
        Signer::Ec(EcdsaKeyPair::from_pkcs8(form, made.as_ref(), &random).unwrap())
    }

    fn ed() -> Signer {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Signer::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Signer::Rsa(_) => "RS256",
            Signer::Ec(_) => "ES256",
            Signer::Ed(_) => "EdDSA",
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Signer::Ec(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Signer::Ed(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// The key as it is published.
    fn public(&self, kid: &str) -> Value {
        match self {
            Signer::Rsa(key) => {
                let parts: RsaPublicKeyComponents<Vec<u8>> = key.public().into();
                json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid,
                        "n": encode(parts.n), "e": encode(parts.e) })
            }
            Signer::Ec(key) => {
                let point = key.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "kid": kid,
                        "x": encode(&point[1..33]), "y": encode(&point[33..]) })
            }
            Signer::Ed(key) => json!({ "kty": "OKP", "crv": "Ed25519", "kid": kid,
                                       "x": encode(key.public_key()) }),
        }
    }

    /// A token with this header and these claims, whatever they say.
    fn token_of(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        format!("{message}.{}", encode(self.sign(message.as_bytes())))
    }

    fn token(&self, kid: &str, claims: &Value) -> String {
        let header = json!({ "alg": self.algorithm(), "typ": "JWT", "kid": kid });
        self.token_of(&header, claims)
    }
}

fn message(header: &Value, claims: &Value) -> String {
    format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    )
}

/// What a good token claims.
fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": "tenure", "sub": "ana", "org": "acme", "roles": ["admin"],
        "iat": seconds(), "nbf": seconds() - 5, "exp": seconds() + 300,
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

/// The three keys of the issuer.
struct Issuer {
    rsa: Signer,
    ec: Signer,
    ed: Signer,
}

impl Issuer {
    fn new() -> Issuer {
        Issuer {
            rsa: Signer::rsa(),
            ec: Signer::ec(),
            ed: Signer::ed(),
        }
    }

    fn set(&self) -> String {
        let keys = [
            self.rsa.public("r1"),
            self.ec.public("e1"),
            self.ed.public("d1"),
            // What others use the same set for.
            json!({ "kty": "oct", "kid": "h1", "k": encode("a shared secret of some length") }),
            json!({ "kty": "RSA", "use": "enc", "kid": "enc", "n": "AQAB", "e": "AQAB" }),
        ];
        json!({ "keys": keys }).to_string()
    }

    fn token(&self, claims: &Value) -> String {
        self.ec.token("e1", claims)
    }
}

// --- the server -----------------------------------------------------------------------------------

/// What accepts these keys; `jwks` is an address or the text of a set.
fn accepting(jwks: &str, more: &str) -> Result<Jwt, tenure::Error> {
    accepting_of(ISSUER, jwks, more)
}

fn accepting_of(issuer: &str, jwks: &str, more: &str) -> Result<Jwt, tenure::Error> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ca.pem"), file("tls/ca.pem")).unwrap();
    let place = if jwks.contains("://") {
        jwks
    } else {
        std::fs::write(folder.path().join("keys.json"), jwks).unwrap();
        "keys.json"
    };
    let text = format!(
        "issuer = \"{issuer}\"\naudience = \"tenure\"\njwks = \"{place}\"\n\
         claims.tenant = \"org\"\nclaims.roles = \"roles\"\n{more}\n\
         [grants.admin]\noperator = true\nclearance = \"restricted\"\n\
         [grants.backend]\nany_user = true\n[grants.planner]\nany_project = true\n"
    );
    let path = folder.path().join("jwt.toml");
    std::fs::write(&path, text).unwrap();
    Jwt::open(&path)
}

fn bench(jwt: Jwt) -> Bench {
    Bench::with(&[], |options| Options {
        audit: Some(options.originals.clone().unwrap().with_extension("audit")),
        jwt: vec![jwt],
        ..options
    })
}

fn ask(bench: &Bench, token: &str) -> Reply {
    let header = format!("authorization: Bearer {token}");
    bench.ask("GET", "/api/v1/records", &[&header], b"")
}

/// Compiles on behalf of this principal; of null, of whomever the token speaks for.
fn compile(bench: &Bench, token: &str, principal: Value) -> Reply {
    let own = format!("authorization: Bearer {token}");
    let headers = ["content-type: application/json", &own];
    let mut request = json!({ "task": { "objective": "x" }, "budget": { "tokens": 500 } });
    if !principal.is_null() {
        request["principal"] = principal;
    }
    let body = json!({ "request": request }).to_string();
    bench.ask("POST", "/api/v1/compile", &headers, body.as_bytes())
}

fn is_refused(bench: &Bench, token: &str, status: u16, says: &str) {
    let reply = ask(bench, token);
    let problem = reply.json();
    let shown = tenure::object::clip(token);
    assert_eq!(reply.status, status, "{says}: {shown} {problem}");
    assert_eq!(
        reply.header("content-type"),
        Some("application/problem+json")
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(says), "{detail}: {shown}");
    if status == 401 {
        assert!(reply.header("www-authenticate").is_some());
    }
}

#[test]
fn a_token_opens_what_its_claims_say() {
    let issuer = Issuer::new();
    let bench = bench(accepting(&issuer.set(), "").unwrap());
    for token in [
        issuer.rsa.token("r1", &claims()),
        issuer.ec.token("e1", &claims()),
        issuer.ed.token("d1", &claims()),
    ] {
        assert_eq!(ask(&bench, &token).status, 200);
        for header in ["x-api-key: ", "x-tenure-key: "] {
            let header = format!("{header}{token}");
            let reply = bench.ask("GET", "/api/v1/models", &[&header], b"");
            assert_eq!(reply.status, 200);
        }
    }
    // Nobody comes in without one, though there is no key; what is open stays open.
    for closed in [
        "/api/v1/objects",
        "/api/v1/models",
        "/metrics",
        "/v1/models",
    ] {
        assert_eq!(bench.get(closed).status, 401, "{closed}");
    }
    assert_eq!(bench.get("/healthz").status, 200);
    // A token writes to its tenant, and to no other.
    let write = |token: &str| {
        let own = format!("authorization: Bearer {token}");
        let headers = ["content-type: application/json", &own];
        let body = br#"{"objects": [{"name": "units", "content": "Report pressure in pascal."}]}"#;
        bench.ask("POST", "/api/v1/objects", &headers, body)
    };
    let token = issuer.token(&claims());
    assert_eq!(write(&token).status, 200);
    let listed = |token: &str| {
        let own = format!("authorization: Bearer {token}");
        let page = bench.ask("GET", "/api/v1/objects", &[&own], b"").json();
        page["objects"].as_array().unwrap().len()
    };
    assert_eq!(listed(&token), 1);
    let other = issuer.token(&with("org", json!("other")));
    assert_eq!(listed(&other), 0);
    // Who did it stands in the audit log; the token does not.
    let audit = bench.folder.path().join("originals.audit");
    let audit = std::fs::read_to_string(audit).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wrote = lines.iter().find(|line| line["method"] == "POST").unwrap();
    assert_eq!(
        (&wrote["tenant"], &wrote["key"]),
        (&json!("acme"), &json!("jwt:ana"))
    );
    assert!(lines.iter().any(|line| line["status"] == 401 && line["tenant"] == ""));
    assert!(!audit.contains(&token[token.len() - 20..]));
    // A key of the store opens beside tokens.
    let operator = Grant {
        operator: true,
        ..Grant::owner("acme")
    };
    let now = tenure::time::Instant::from_micros(seconds() * 1_000_000);
    let (_, key) = Keys::of(&bench.store).unwrap().create(operator, now).unwrap();
    crate::support::wait_for(|| (ask(&bench, &key).status == 200).then_some(()));
    assert_eq!(ask(&bench, &token).status, 200);
}

#[test]
fn a_token_grants_what_its_roles_do_and_no_more() {
    let issuer = Issuer::new();
    let bench = bench(accepting(&issuer.set(), "").unwrap());
    let compile = |token: &str, principal: Value| compile(&bench, token, principal);
    // An operator's verbs are for whose role grants them.
    for roles in [
        json!(["reader"]),
        json!([]),
        json!("reader writer"),
        json!(""),
    ] {
        let token = issuer.token(&with("roles", roles));
        let own = format!("authorization: Bearer {token}");
        let headers = ["content-type: application/json", &own];
        let clean = br#"{"contradiction_status":"clean"}"#;
        let judged = bench.ask("POST", "/api/v1/objects/x/judgement", &headers, clean);
        assert_eq!(judged.status, 403);
        assert_eq!(compile(&token, Value::Null).status, 200);
    }
    // Without any, a user reads what is their own.
    assert_eq!(ask(&bench, &issuer.token(&without("roles"))).status, 200);
    let spaced = issuer.token(&with("roles", json!("reader admin")));
    assert_eq!(ask(&bench, &spaced).status, 200);
    // It speaks for its subject, unless a role says otherwise.
    let ana = issuer.token(&with("roles", json!(["reader"])));
    let of = |user: &str| json!({ "tenant": "acme", "user": user, "roles": ["reader"] });
    assert_eq!(compile(&ana, of("ana")).status, 200);
    assert_eq!(compile(&ana, of("ben")).status, 403);
    let backend = issuer.token(&with("roles", json!(["reader", "backend"])));
    assert_eq!(compile(&backend, of("ben")).status, 200);
    // Neither another tenant, nor a role, nor a clearance that is not granted.
    for more in [
        json!({ "tenant": "other" }),
        json!({ "tenant": "acme", "roles": ["admin"] }),
        json!({ "tenant": "acme", "clearance": "restricted" }),
        json!({ "tenant": "acme", "pii_authorized": true }),
    ] {
        assert_eq!(compile(&ana, more.clone()).status, 403, "{more}");
    }
    // Which project it is of is not asked here: it speaks for each.
    let other = json!({ "tenant": "acme", "project": "other", "roles": ["reader"] });
    assert_eq!(compile(&ana, other).status, 200);
}

#[test]
fn where_projects_are_claimed_a_token_without_one_speaks_for_none() {
    let issuer = Issuer::new();
    let bench = bench(accepting(&issuer.set(), "claims.project = \"project\"").unwrap());
    let token = |project: Value, roles: Value| {
        let mut claims = with("roles", roles);
        claims["project"] = project;
        issuer.token(&claims)
    };
    let of = |project: &str| json!({ "tenant": "acme", "project": project });
    let boiler = token(json!("boiler"), json!([]));
    assert_eq!(compile(&bench, &boiler, of("boiler")).status, 200);
    assert_eq!(compile(&bench, &boiler, of("other")).status, 403);
    // None, or none that could be: of an operator, too.
    for roles in [json!([]), json!(["admin"])] {
        let missing = issuer.token(&with("roles", roles.clone()));
        is_refused(&bench, &missing, 403, "`project`");
        assert_eq!(compile(&bench, &missing, of("boiler")).status, 403);
        for project in [Value::Null, json!(7), json!(""), json!(["boiler"])] {
            let token = token(project, roles.clone());
            is_refused(&bench, &token, 403, "`project`");
        }
    }
    // A role may grant them all, whether the token names one or not.
    let of = |project: &str| json!({ "tenant": "acme", "project": project, "roles": ["planner"] });
    for planner in [
        token(json!("boiler"), json!(["planner"])),
        issuer.token(&with("roles", json!(["planner"]))),
    ] {
        assert_eq!(compile(&bench, &planner, of("boiler")).status, 200);
        assert_eq!(compile(&bench, &planner, of("other")).status, 200);
    }
}

#[test]
fn whoever_is_not_signed_for_is_not_let_in() {
    let issuer = Issuer::new();
    let bench = bench(accepting(&issuer.set(), "").unwrap());
    let good = issuer.token(&claims());
    assert_eq!(ask(&bench, &good).status, 200);
    let (head, signature) = good.rsplit_once('.').unwrap();
    let stranger = Signer::ec();
    let header = |alg: &str| json!({ "alg": alg, "typ": "JWT", "kid": "r1" });
    let shared = |key: &[u8], kid: &str| {
        let message = message(&json!({ "alg": "HS256", "kid": kid }), &claims());
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message.as_bytes());
        format!("{message}.{}", encode(tag))
    };
    let published = issuer.rsa.public("r1");
    let modulus = URL_SAFE_NO_PAD.decode(published["n"].as_str().unwrap()).unwrap();
    let unsigned = |alg: &str| format!("{}.", message(&header(alg), &claims()));
    // Not signed, or by a secret that is none.
    for alg in [
        "none", "None", "NONE", "", "HS256", "HS512", "RS1", "rs256", "ES512",
    ] {
        is_refused(&bench, &unsigned(alg), 401, "not accepted");
    }
    is_refused(&bench, &unsigned("RS256"), 401, "signature");
    is_refused(&bench, &shared(&modulus, "r1"), 401, "not accepted");
    is_refused(
        &bench,
        &shared(published.to_string().as_bytes(), "r1"),
        401,
        "not accepted",
    );
    is_refused(
        &bench,
        &shared(b"a shared secret of some length", "h1"),
        401,
        "not accepted",
    );
    // A key of another kind, another key, no key, a key that the token brings along.
    let by = |header: Value| stranger.token_of(&header, &claims());
    is_refused(
        &bench,
        &by(json!({ "alg": "ES256", "kid": "e1" })),
        401,
        "signature",
    );
    is_refused(
        &bench,
        &by(json!({ "alg": "RS256", "kid": "r1" })),
        401,
        "signature",
    );
    is_refused(
        &bench,
        &by(json!({ "alg": "RS256", "kid": "e1" })),
        401,
        "not known",
    );
    is_refused(
        &bench,
        &by(json!({ "alg": "ES256", "kid": "r1" })),
        401,
        "not known",
    );
    is_refused(
        &bench,
        &by(json!({ "alg": "ES256", "kid": "e2" })),
        401,
        "not known",
    );
    is_refused(&bench, &by(json!({ "alg": "ES256" })), 401, "not known");
    let own = stranger.public("e1");
    is_refused(
        &bench,
        &by(json!({ "alg": "ES256", "kid": "e1", "jwk": own })),
        401,
        "signature",
    );
    let place = json!({ "alg": "ES256", "kid": "x", "jku": "http://127.0.0.1:1/keys" });
    is_refused(&bench, &by(place), 401, "not known");
    // Of the issuer, and altered.
    let claimed = encode(with("org", json!("other")).to_string());
    let (first, _) = head.split_once('.').unwrap();
    is_refused(
        &bench,
        &format!("{first}.{claimed}.{signature}"),
        401,
        "signature",
    );
    let der = digest::digest(&digest::SHA256, b"x");
    is_refused(&bench, &format!("{head}.{}", encode(der)), 401, "signature");
    is_refused(&bench, &format!("{head}."), 401, "signature");
    // No token at all, or more than one.
    for broken in [
        format!("{good}."),
        format!("{good}.{signature}"),
        format!(".{head}"),
        head.to_owned(),
        format!("{good}="),
        format!("{head}.*"),
        "..".into(),
        ".".into(),
        "a.b.c".into(),
        format!("{}.{}.{signature}", encode("[]"), encode("{}")),
        format!("{}.{}.{signature}", encode("{\"alg\":7}"), encode("{}")),
        format!(
            "{}.e30.{signature}",
            encode("{\"alg\":\"ES256\",\"alg\":\"ES256\"}")
        ),
    ] {
        is_refused(&bench, &broken, 401, "compact form");
    }
    let huge = issuer.token(&with("pad", json!("x".repeat(20 << 10))));
    is_refused(&bench, &huge, 401, "longer than");
    // What it demands, and what it is for.
    let crit = json!({ "alg": "ES256", "kid": "e1", "crit": ["b64"], "b64": false });
    is_refused(&bench, &issuer.ec.token_of(&crit, &claims()), 401, "crit");
    let logout = json!({ "alg": "ES256", "kid": "e1", "typ": "logout+jwt" });
    is_refused(
        &bench,
        &issuer.ec.token_of(&logout, &claims()),
        401,
        "another kind",
    );
    let twice = json!({ "alg": "ES256", "kid": "e1", "typ": "application/application/jwt" });
    is_refused(
        &bench,
        &issuer.ec.token_of(&twice, &claims()),
        401,
        "another kind",
    );
    for kind in ["at+JWT", "application/at+jwt"] {
        let access = json!({ "alg": "ES256", "kid": "e1", "typ": kind });
        let token = issuer.ec.token_of(&access, &claims());
        assert_eq!(ask(&bench, &token).status, 200, "{kind}");
    }
    let array = issuer.ec.token_of(&json!({ "alg": "ES256", "kid": "e1" }), &json!([claims()]));
    is_refused(&bench, &array, 401, "no JSON object");
}

#[test]
fn claims_that_do_not_hold_open_nothing() {
    let issuer = Issuer::new();
    let bench = bench(accepting(&issuer.set(), "leeway_s = 30").unwrap());
    let refused = |claims: Value, status: u16, says: &str| {
        is_refused(&bench, &issuer.token(&claims), status, says);
    };
    let now = seconds();
    refused(with("exp", json!(now - 60)), 401, "expired");
    refused(with("exp", json!(0)), 401, "expired");
    refused(with("exp", json!(-1e300)), 401, "expired");
    refused(with("exp", json!("2099-01-01")), 401, "no second");
    refused(with("exp", Value::Null), 401, "no second");
    refused(without("exp"), 401, "when it ends");
    refused(with("nbf", json!(now + 120)), 401, "not valid yet");
    refused(with("nbf", json!([])), 401, "no second");
    for issuers in [
        json!("https://id.example.com"),
        json!([ISSUER]),
        json!(7),
        Value::Null,
    ] {
        refused(with("iss", issuers), 401, "another issuer");
    }
    refused(without("iss"), 401, "another issuer");
    for audience in [
        json!("tenure2"),
        json!([]),
        json!(["a", "b"]),
        json!({"tenure": 1}),
        json!(7),
    ] {
        refused(with("aud", audience), 401, "another audience");
    }
    refused(without("aud"), 401, "another audience");
    // Clocks differ by a little.
    for nearly in [
        with("exp", json!(now - 10)),
        with("exp", json!(now as f64 - 10.5)),
        with("nbf", json!(now + 10)),
        with("aud", json!(["other", "tenure"])),
        without("nbf"),
    ] {
        assert_eq!(ask(&bench, &issuer.token(&nearly)).status, 200, "{nearly}");
    }
    // It is known who it is, but not for whom it speaks.
    let long = "x".repeat(300);
    for tenant in [
        json!(7),
        json!(["acme"]),
        json!(""),
        json!(" "),
        json!("a\u{0}b"),
        json!(long),
    ] {
        refused(with("org", tenant), 403, "`org`");
    }
    refused(without("org"), 403, "`org`");
    refused(with("org", json!("tenure:keys")), 403, "cannot be");
    refused(without("sub"), 403, "`sub`");
    refused(with("sub", json!(7)), 403, "`sub`");
    for roles in [
        json!(7),
        json!([7]),
        json!({"admin": true}),
        json!(["a\nb"]),
        json!([""]),
    ] {
        refused(with("roles", roles), 403, "`roles`");
    }
    refused(with("roles", json!(vec!["admin"; 300])), 403, "`roles`");
}

#[test]
fn the_gateway_takes_a_token_and_keeps_it() {
    let issuer = Issuer::new();
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::with(&[upstream.url()], |options| Options {
        jwt: vec![accepting(&issuer.set(), "").unwrap()],
        ..options
    });
    let token = issuer.token(&claims());
    let provider = "authorization: Bearer sk-provider";
    let refused = bench.ask("POST", "/v1/responses", &[provider], b"{}");
    assert_eq!(refused.status, 401);
    let own = format!("x-tenure-key: {token}");
    let reply = bench.ask("POST", "/v1/responses", &[provider, &own], b"{}");
    assert_eq!(reply.status, 200);
    let seen = upstream.only();
    assert_eq!(seen.header("authorization"), Some("Bearer sk-provider"));
    assert!(!format!("{seen:?}").contains(&token));
    let record = bench.record("acme", &reply.record());
    assert_eq!(record.key.as_deref(), Some("jwt:ana"));
}

// --- where keys are from --------------------------------------------------------------------------

/// An issuer that answers with what it is told to, and how often it was asked.
fn publishing(
    answers: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static,
) -> (Upstream, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let upstream = Upstream::new(move |_, stream| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        let _ = stream.write_all(&answers(number));
    });
    (upstream, asked)
}

fn said(set: &str) -> Vec<u8> {
    answer("200 OK", "application/json", set.as_bytes())
}

#[test]
fn new_keys_are_fetched_when_a_token_names_one_and_not_more_often() {
    let (old, new) = (Signer::ec(), Signer::ec());
    let sets = [
        json!({ "keys": [old.public("k1")] }).to_string(),
        json!({ "keys": [new.public("k2")] }).to_string(),
    ];
    let (upstream, asked) = publishing(move |number| said(&sets[number.min(1)]));
    let url = format!("{}/keys?tenant=1", upstream.url());
    let bench = bench(accepting(&url, "pause_s = 1").unwrap());
    let asked = || asked.load(Ordering::SeqCst);
    // Nothing is fetched before a token needs it, and then once.
    assert_eq!(bench.get("/api/v1/objects").status, 401);
    assert_eq!(asked(), 0);
    for _ in 0..3 {
        assert_eq!(ask(&bench, &old.token("k1", &claims())).status, 200);
    }
    assert_eq!(asked(), 1);
    assert_eq!(upstream.seen()[0].line, "GET /keys?tenant=1 HTTP/1.1");
    // Strangers cannot make the server ask again and again.
    for number in 0..20 {
        let stranger = Signer::ec();
        is_refused(
            &bench,
            &stranger.token(&format!("x{number}"), &claims()),
            401,
            "not known",
        );
    }
    assert!(asked() <= 2, "{}", asked());
    std::thread::sleep(Duration::from_millis(1_100));
    // The issuer has changed its key: the new one is found, and the old one is none any more.
    assert_eq!(ask(&bench, &new.token("k2", &claims())).status, 200);
    is_refused(&bench, &old.token("k1", &claims()), 401, "not known");
    assert!(asked() <= 3, "{}", asked());
}

#[test]
fn keys_that_are_old_are_read_again_and_stay_while_they_cannot_be() {
    let signer = Signer::ec();
    let set = json!({ "keys": [signer.public("k1")] }).to_string();
    let (upstream, asked) = publishing(move |number| match number {
        0 => said(&set),
        _ => answer("500 Internal Server Error", "text/plain", b"away"),
    });
    let bench = bench(accepting(&upstream.url(), "pause_s = 1\nkeep_s = 1").unwrap());
    let token = signer.token("k1", &claims());
    assert_eq!(ask(&bench, &token).status, 200);
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(ask(&bench, &token).status, 200);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_key_that_left_the_set_is_none_once_keys_are_old() {
    let (old, new) = (Signer::ec(), Signer::ec());
    let sets = [
        json!({ "keys": [old.public("k1")] }).to_string(),
        json!({ "keys": [new.public("k2")] }).to_string(),
    ];
    let (upstream, _) = publishing(move |number| said(&sets[number.min(1)]));
    let bench = bench(accepting(&upstream.url(), "pause_s = 1\nkeep_s = 1").unwrap());
    assert_eq!(ask(&bench, &old.token("k1", &claims())).status, 200);
    std::thread::sleep(Duration::from_millis(1_100));
    // Not even the token that finds them old is let in by it.
    is_refused(&bench, &old.token("k1", &claims()), 401, "not known");
}

#[test]
fn an_issuer_that_falls_silent_holds_up_no_token_whose_key_is_known() {
    let signer = Signer::ec();
    let set = json!({ "keys": [signer.public("k1")] }).to_string();
    let (upstream, asked) = publishing(move |number| {
        if number > 0 {
            std::thread::sleep(Duration::from_secs(60));
        }
        said(&set)
    });
    let bench = bench(accepting(&upstream.url(), "pause_s = 1\nkeep_s = 1").unwrap());
    let token = signer.token("k1", &claims());
    assert_eq!(ask(&bench, &token).status, 200);
    std::thread::sleep(Duration::from_millis(1_100));
    // Each waits for a moment, and none for those that came before it.
    let before = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(ask(&bench, &token).status, 200));
        }
    });
    assert!(
        before.elapsed() < Duration::from_secs(4),
        "{:?}",
        before.elapsed()
    );
    // Once it is known to be silent, only who has it asked again does.
    std::thread::sleep(Duration::from_millis(6_500));
    let before = std::time::Instant::now();
    for _ in 0..8 {
        assert_eq!(ask(&bench, &token).status, 200);
    }
    assert!(
        before.elapsed() < Duration::from_secs(4),
        "{:?}",
        before.elapsed()
    );
    let asked = asked.load(Ordering::SeqCst);
    assert!((2..=4).contains(&asked), "{asked}");
}

#[test]
fn an_issuer_that_lies_or_hangs_lets_nobody_in_and_holds_nobody_up() {
    let signer = Signer::ec();
    let good = signer.public("k1");
    let oct = json!({ "kty": "oct", "kid": "k1", "k": encode("secret") });
    let mut short = good.clone();
    short["x"] = json!(encode([7; 31]));
    let mut nowhere = good.clone();
    nowhere["x"] = json!(encode([7; 32]));
    let mut for_secrets = good.clone();
    for_secrets["use"] = json!("enc");
    let mut of_another = good.clone();
    of_another["alg"] = json!("HS256");
    let small = json!({ "kty": "RSA", "kid": "k1", "n": encode([0xff; 64]), "e": "AQAB" });
    let set = |key: Value| json!({ "keys": [key] }).to_string().into_bytes();
    let many = json!({ "keys": vec![good.clone(); 101] }).to_string().into_bytes();
    let token = signer.token("k1", &claims());
    for (status, body, code, says) in [
        ("200 OK", b"<html>".to_vec(), 503, "no key set"),
        ("200 OK", b"[]".to_vec(), 503, "no key set"),
        (
            "200 OK",
            b"{\"keys\": []}".to_vec(),
            503,
            "no key that can be used",
        ),
        ("200 OK", set(oct), 503, "no key that can be used"),
        ("200 OK", set(short), 503, "no key that can be used"),
        ("200 OK", set(for_secrets), 503, "no key that can be used"),
        ("200 OK", set(of_another), 503, "no key that can be used"),
        ("200 OK", set(small), 503, "no key that can be used"),
        ("200 OK", set(json!(7)), 503, "no key that can be used"),
        ("200 OK", many, 503, "101 keys"),
        ("200 OK", vec![b' '; 600 << 10], 503, "larger than"),
        ("404 Not Found", set(good.clone()), 503, "404"),
        (
            "302 Found\r\nlocation: http://127.0.0.1:1/",
            Vec::new(),
            503,
            "302",
        ),
        ("200 OK", set(nowhere), 401, "signature"),
        ("200 OK", set(Signer::ec().public("k1")), 401, "signature"),
        ("200 OK", set(good), 200, ""),
    ] {
        let (upstream, _) = publishing(move |_| answer(status, "application/json", &body));
        let bench = bench(accepting(&upstream.url(), "").unwrap());
        match code {
            200 => assert_eq!(ask(&bench, &token).status, 200),
            code => is_refused(&bench, &token, code, says),
        }
    }
    // Nobody there, and nobody who says anything; meanwhile the server answers others.
    let bench = bench(accepting("http://127.0.0.1:1/keys", "").unwrap());
    is_refused(&bench, &token, 503, "cannot be reached");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys", silent.local_addr().unwrap());
    let bench = self::bench(accepting(&url, "").unwrap());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| is_refused(&bench, &token, 503, "no answer within"));
        for _ in 0..10 {
            assert_eq!(bench.get("/healthz").status, 200);
        }
        assert!(!waiting.is_finished());
        waiting.join().unwrap();
    });
    // What it could not have once, it does not wait for with each request.
    let before = std::time::Instant::now();
    is_refused(&bench, &token, 503, "no answer within");
    assert!(before.elapsed() < Duration::from_secs(2));
}

/// An issuer over TLS, whose authority nobody trusts but who is told to.
fn secure(set: String) -> u16 {
    let certificate = CertificateDer::from_pem_slice(file("tls/leaf.pem").as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(file("tls/leaf.key.pem").as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            let mut piece = [0; 4096];
            if stream.read(&mut piece).is_ok_and(|read| read > 0) {
                let _ = stream.write_all(&said(&set));
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    port
}

#[test]
fn keys_come_over_tls_from_whom_one_trusts() {
    let signer = Signer::ed();
    let port = secure(json!({ "keys": [signer.public("k1")] }).to_string());
    let url = format!("https://localhost:{port}/keys");
    let token = signer.token("k1", &claims());
    let trusting = bench(accepting(&url, "ca = \"ca.pem\"").unwrap());
    assert_eq!(ask(&trusting, &token).status, 200);
    let wary = bench(accepting(&url, "").unwrap());
    is_refused(&wary, &token, 503, "certificate");
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let set = Issuer::new().set();
    for (jwks, more, says) in [
        (set.as_str(), "algorithms = [\"HS256\"]", "HS256"),
        (&set, "algorithms = [\"none\"]", "none"),
        (&set, "algorithms = []", "algorithms"),
        (&set, "leeway_s = 3600", "leeway_s"),
        (&set, "pause_s = 0", "pause_s"),
        (&set, "keep_s = 30", "keep_s"),
        (&set, "tenant = \"acme\"", "said once"),
        (&set, "secret = \"x\"", "secret"),
        (&set, "name = \"a:b\"", "name of an issuer"),
        ("{}", "", "no key set"),
        ("http://id.example.com/keys", "", "no address of keys"),
        (
            "https://user:hush@id.example.com/keys",
            "",
            "no address of keys",
        ),
        ("ftp://127.0.0.1/keys", "", "no address of keys"),
        (
            "https://localhost/keys",
            "ca = \"nothing.pem\"",
            "nothing.pem",
        ),
        ("https://localhost/keys", "ca = \"jwt.toml\"", "certificate"),
        (&set, "ca = \"ca.pem\"", "`ca` is of addresses"),
    ] {
        let Err(error) = accepting(jwks, more) else {
            panic!("{more} was accepted")
        };
        assert_eq!(error.kind, tenure::ErrorKind::Input);
        assert!(error.to_string().contains(says), "{says}: {error}");
        let file = error.at.as_ref().map(|at| at.source.as_str()).unwrap_or_default();
        assert!(file.contains("jwt.toml") || file.contains("keys.json") || says == "nothing.pem");
    }
}

#[test]
fn tokens_let_a_server_be_reached_from_other_machines() {
    let workspace = tenure_workspace::Workspace::new(tenure::FrameKey::new("test", [7; 32]));
    let options = Options {
        listen: "0.0.0.0:0".into(),
        jwt: vec![accepting(&Issuer::new().set(), "").unwrap()],
        ..Options::new(workspace.unwrap())
    };
    assert!(Server::bind(options).is_ok());
}

const PARTNER: &str = "https://login.partner.example/";

/// What a good token of the partner's claims.
fn partners(name: &str, value: Value) -> Value {
    let mut claims = claims();
    (claims["iss"], claims["org"]) = (PARTNER.into(), "partner".into());
    claims[name] = value;
    claims
}

fn both(ours: &str, theirs: &str) -> Bench {
    let ours = accepting(ours, "name = \"staff\"\ntenants = [\"acme\"]").unwrap();
    let more = "name = \"partner\"\ntenants = [\"partner\", \"shared\"]\nalgorithms = [\"ES256\"]";
    let theirs = accepting_of(PARTNER, theirs, more).unwrap();
    Bench::with(&[], |options| Options {
        audit: Some(options.originals.clone().unwrap().with_extension("audit")),
        jwt: vec![ours, theirs],
        ..options
    })
}

#[test]
fn each_issuer_opens_with_its_own_keys_what_is_its_own() {
    let (ours, theirs) = (Issuer::new(), Issuer::new());
    // Both call their keys the same.
    let bench = both(&ours.set(), &theirs.set());
    let plain = partners("sub", "ana".into());
    assert_eq!(ask(&bench, &ours.token(&claims())).status, 200);
    assert_eq!(ask(&bench, &theirs.token(&plain)).status, 200);
    for (token, status, says) in [
        // A key of one issuer signs nothing for another.
        (theirs.token(&claims()), 401, "signature is wrong"),
        (ours.token(&plain), 401, "signature is wrong"),
        // What one accepts, the other need not.
        (theirs.ed.token("d1", &plain), 401, "EdDSA"),
        (
            ours.token(&with("iss", json!("https://id.example.com"))),
            401,
            "another issuer",
        ),
        (
            ours.token(&with("iss", json!([ISSUER, PARTNER]))),
            401,
            "another issuer",
        ),
        // Neither names the other's tenants.
        (
            theirs.token(&partners("org", "acme".into())),
            403,
            "may not claim",
        ),
        (
            ours.token(&with("org", json!("partner"))),
            403,
            "may not claim",
        ),
        (ours.token(&with("org", json!("*"))), 403, "may not claim"),
    ] {
        is_refused(&bench, &token, status, says);
    }
    // Two of one name are two callers.
    let audit = bench.folder.path().join("originals.audit");
    let lines = std::fs::read_to_string(audit).unwrap();
    let keys = lines.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["key"].as_str().map(str::to_owned)
    });
    let keys: Vec<String> = keys.collect();
    assert_eq!(keys, ["jwt:staff:ana", "jwt:partner:ana"]);
}

#[test]
fn an_issuer_that_is_away_holds_up_its_own_tokens_only() {
    let (ours, theirs) = (Issuer::new(), Issuer::new());
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bench = both(&ours.set(), &format!("http://{nobody}/keys"));
    assert_eq!(
        ask(&bench, &theirs.token(&partners("sub", "ana".into()))).status,
        503
    );
    assert_eq!(ask(&bench, &ours.token(&claims())).status, 200);
}

#[test]
fn issuers_that_cannot_be_told_apart_are_refused() {
    let set = Issuer::new().set();
    let named = |name: &str| format!("name = \"{name}\"\ntenants = [\"*\"]");
    let other = |more: &str| accepting_of(PARTNER, &set, more).unwrap();
    for (second, says) in [
        (accepting(&set, &named("b")).unwrap(), "there twice"),
        (other("tenants = [\"*\"]"), "no name"),
        (other(&named("a")), "no name"),
        (other("name = \"b\""), "any tenant"),
    ] {
        let workspace = tenure_workspace::Workspace::new(tenure::FrameKey::new("test", [7; 32]));
        let options = Options {
            listen: "127.0.0.1:0".into(),
            jwt: vec![accepting(&set, &named("a")).unwrap(), second],
            ..Options::new(workspace.unwrap())
        };
        let error = Server::bind(options).err().unwrap();
        assert!(error.to_string().contains(says), "{says}: {error}");
    }
}
