//! Signatures that others made: the examples of the standards.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::key_set::{Algorithm, KeySet};
use super::token::{Claims, Unverified};

/// RFC 7515, appendix A.2 and A.3: the same claims under two keys.
const CLAIMS: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

fn is_verified(key: serde_json::Value, algorithm: Algorithm, token: &str) {
    let keys = KeySet::read(json!({ "keys": [key] }).to_string().as_bytes()).unwrap();
    let read = Unverified::read(token, &[algorithm]).unwrap();
    assert!(keys.has(None, algorithm) && !keys.has(Some("k"), algorithm));
    let (message, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert!(keys.verify(None, algorithm, message.as_bytes(), &signature));
    assert!(!keys.verify(None, algorithm, b"another", &signature));
    let mut other = signature.clone();
    other[7] ^= 1;
    assert!(!keys.verify(None, algorithm, message.as_bytes(), &other));
    // An algorithm that the key is not for is none of it.
    for foreign in [Algorithm::Rs384, Algorithm::Ps256, Algorithm::Es384] {
        assert!(!keys.verify(None, foreign, message.as_bytes(), &signature));
    }
    assert!(read.kid.is_none());
}

#[test]
fn the_examples_of_the_standards_are_verified() {
    let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    let signature = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let token = format!("eyJhbGciOiJSUzI1NiJ9.{CLAIMS}.{signature}");
    let key = json!({ "kty": "RSA", "alg": "RS256", "n": n, "e": "AQAB" });
    is_verified(key, Algorithm::Rs256, &token);

    let signature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    let token = format!("eyJhbGciOiJFUzI1NiJ9.{CLAIMS}.{signature}");
    let key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    is_verified(key, Algorithm::Es256, &token);

    // RFC 8037, appendix A.4.
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
                 hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    is_verified(key, Algorithm::EdDsa, token);
}

#[test]
fn a_claim_is_found_by_its_name_or_path() {
    let claims: Claims = serde_json::from_value(json!({
        "a/b": 1, "https://x/roles": 2, "realm_access": { "roles": ["a"], "~": 3 }, "list": [4],
    }))
    .unwrap();
    for (name, found) in [
        ("https://x/roles", Some(json!(2))),
        ("a/b", Some(json!(1))),
        ("/a~1b", Some(json!(1))),
        ("/realm_access/roles", Some(json!(["a"]))),
        ("/realm_access/~0", Some(json!(3))),
        ("/realm_access/none", None),
        ("/list/0", None),
        ("realm_access.roles", None),
        ("/", None),
        ("", None),
    ] {
        assert_eq!(claims.get(name).cloned(), found, "{name}");
    }
}
