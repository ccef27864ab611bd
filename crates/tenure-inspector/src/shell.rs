//! The frame of every page: head, navigation, foot.

use maud::{DOCTYPE, Markup, html};

use crate::links::{Links, View};
use crate::text::plain;

/// The style of all pages.
pub const STYLE: &str = include_str!("style.css");

/// The path of [`STYLE`] on a server.
pub const STYLE_PATH: &str = "/inspect/style.css";

/// The path of [`SCRIPT`] on a server.
pub const SCRIPT_PATH: &str = "/inspect/live.js";

/// The only script: it says when there are newer requests, and which instant a slider stands at. Every page is read and
/// used without it.
pub const SCRIPT: &str = include_str!("live.js");

/// The surroundings of a page on a server.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The reader, as the key names them; none where nobody must sign in.
    pub reader: Option<String>,
    /// The proof that a form came from a page of this server and this reader.
    pub token: String,
    /// True if the reader sees past access lists.
    pub operator: bool,
    /// True if the reader may change something.
    pub writes: bool,
    /// True if the reader is a person who may decide on outcomes and on what awaits confirmation.
    pub reviews: bool,
    /// True if the reader may decide between claims.
    pub resolves: bool,
}

impl Frame {
    /// Returns whether there is nothing that the reader may decide.
    pub(crate) fn reads_only(&self) -> bool {
        !self.writes && !self.reviews && !self.resolves
    }
}

/// A page in a file, which needs nothing but itself.
pub(crate) fn file(title: &str, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(title))
                meta name="referrer" content="no-referrer";
                // Nothing is loaded and nothing runs, whatever a text of others says.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                header.top { span.brand { "Tenure" } span.hint { "a report in one file" } }
                main #main { (body) }
            }
        }
    };
    page.into_string()
}

/// A page of a server.
pub(crate) fn served(title: &str, frame: &Frame, at: Option<View<'_>>, body: Markup) -> String {
    let views = [
        (View::Overview, "Requests"),
        (View::Registries, "Registries"),
        (View::Waiting, "Decisions"),
        (View::Trends, "Over time"),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(title))
                link rel="stylesheet" href=(STYLE_PATH);
                @if matches!(at, Some(View::Overview | View::Object(_))) { script src=(SCRIPT_PATH) defer {} }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    span.brand { "Tenure" }
                    nav aria-label="Views" {
                        ul {
                            @for (view, name) in views {
                                @if let Some(href) = Links::Server.to(view) {
                                    li { a href=(href) aria-current=[(at == Some(view)).then_some("page")] { (name) } }
                                }
                            }
                        }
                    }
                    @if let Some(reader) = &frame.reader {
                        form method="post" action=[Links::Server.to(View::SignOut)] {
                            input type="hidden" name="token" value=(frame.token);
                            span.hint { (plain(reader, 80)) @if frame.operator { ", operator" } @if frame.reads_only() { ", reads only" } " " }
                            button type="submit" { "Sign out" }
                        }
                    }
                }
                main #main { (body) }
            }
        }
    };
    page.into_string()
}

fn head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width,initial-scale=1";
        title { (plain(title, 120)) " · Tenure" }
    }
}

/// A table that scrolls by itself where it is wider than the page.
pub(crate) fn table(label: &str, head: Markup, rows: Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" {
            table {
                thead { tr { (head) } }
                tbody { (rows) }
            }
        }
    }
}

/// A page that only says something: an error, or that one must sign in.
pub fn message(title: &str, what: &str, hint: Option<&str>, frame: &Frame) -> String {
    served(
        title,
        frame,
        None,
        html! {
            h1 { (plain(title, 200)) }
            p.notice { (crate::text::clipped(what, 2_000)) }
            @if let Some(hint) = hint { p.hint { (crate::text::clipped(hint, 2_000)) } }
            p { a href=[Links::Server.to(View::Overview)] { "To the list of requests" } }
        },
    )
}

/// The page at which a reader signs in. `back` is where they wanted to go.
pub fn sign_in(back: &str, failed: bool, takes_tokens: bool) -> String {
    let what = if takes_tokens { "key or token" } else { "key" };
    let frame = Frame::default();
    served(
        "Sign in",
        &frame,
        None,
        html! {
            h1 { "Sign in" }
            @if failed { p.notice role="alert" { "That " (what) " opens nothing: it is unknown, expired or revoked." } }
            form.filter method="post" action=[Links::Server.to(View::SignIn)] {
                label { "The " (what) " of this server"
                    input type="password" name="key" autocomplete="current-password" required size="40";
                }
                input type="hidden" name="back" value=(back);
                button.act type="submit" { "Sign in" }
            }
            p.hint { code { "tenure keys create --tenant T --read-only" } " makes a key that only reads." }
        },
    )
}

/// The page for who followed a link from elsewhere: a browser shows its cookie only to a page that follows a page of
/// this server.
pub fn onward(path: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head("On"))
                meta http-equiv="refresh" content=(format!("0;url={path}"));
                link rel="stylesheet" href=(STYLE_PATH);
            }
            body { main #main { h1 { "Tenure" } p { a href=(path) { "On to the page" } } } }
        }
    };
    page.into_string()
}
