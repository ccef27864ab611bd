//! Addresses on the web, as browsers read them.

use super::vocabulary::SourceKind;

/// The schemes of the web.
const WEB: [&str; 2] = ["http", "https"];

/// Returns whether this is the address of something on the web.
pub fn is_web(uri: &str) -> bool {
    parts(uri).is_some()
}

/// The kind of source that an address stands for by itself: the web, a mailbox or a tool; none for anything else.
pub fn kind_of_origin(uri: &str) -> Option<SourceKind> {
    const SCHEMES: [(SourceKind, &[&str]); 3] = [
        (SourceKind::Web, &WEB),
        (
            SourceKind::Mail,
            &["mailto", "mid", "imap", "imaps", "pop", "pops", "smtp"],
        ),
        (SourceKind::Tool, &["tool", "mcp"]),
    ];
    let (kind, _) =
        SCHEMES.into_iter().find(|(_, schemes)| scheme_among(uri, schemes).is_some())?;
    Some(kind)
}

/// Scheme, host and port of a web address (RFC 6454), or `None` for anything else.
pub(crate) fn web_origin(uri: &str) -> Option<String> {
    let (scheme, rest) = parts(uri)?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority).to_ascii_lowercase();
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    Some(format!(
        "{scheme}://{}",
        host.strip_suffix(default_port).unwrap_or(&host)
    ))
}

/// The scheme of a web address, and what follows it and its slashes. A browser reads past white space before it, control
/// characters in it and slashes that are missing or lean the other way, so none of these makes it something else.
fn parts(uri: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = scheme_among(uri, &WEB)?;
    Some((scheme, rest.trim_start_matches(['/', '\\'])))
}

/// The scheme of an address where it is one of these, and what follows its colon.
fn scheme_among<'u>(uri: &'u str, known: &[&'static str]) -> Option<(&'static str, &'u str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let scheme = scheme.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    Some((
        known.iter().find(|known| {
            let read = scheme.chars().filter(|c| !c.is_control());
            read.map(|c| c.to_ascii_lowercase()).eq(known.chars())
        })?,
        rest,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_scheme_host_and_port() {
        let origin = |uri| web_origin(uri);
        assert_eq!(
            origin("HTTPS://User@Example.com:443/a?b").as_deref(),
            Some("https://example.com")
        );
        assert_eq!(
            origin("http://example.com:8080#x").as_deref(),
            Some("http://example.com:8080")
        );
        for other in [
            "workspace://a",
            "rules.md",
            "httpx://a.example",
            "C:\\http",
            "",
        ] {
            assert_eq!(origin(other), None, "{other}");
            assert!(!is_web(other));
        }
    }

    #[test]
    fn an_address_in_disguise_is_an_address() {
        for uri in [
            "https://a.example/x",
            " https://a.example/x",
            "\u{A0}\n\tHtTpS://a.example",
            "ht\ttps://a.example",
            "https:/a.example",
            "https:a.example",
            "https:\\\\a.example\\x",
            "https:///a.example",
        ] {
            assert_eq!(
                web_origin(uri).as_deref(),
                Some("https://a.example"),
                "{uri:?}"
            );
        }
    }
}
