//! Pages in HTML, as the Markdown that one would read: headings, paragraphs, lists, tables and code. Scripts, styles,
//! navigation and what is not shown are left out. What a page has in its `main` is all of it that counts.

use html5gum::{Token, Tokenizer};

/// Elements whose content is no text of the page.
const HIDDEN: [&str; 12] = [
    "aside", "canvas", "footer", "head", "iframe", "nav", "noscript", "object", "script", "style",
    "svg", "template",
];
/// Elements that begin a line.
const BLOCKS: [&str; 26] = [
    "address",
    "article",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "header",
    "hr",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "thead",
    "tr",
    "ul",
];
/// The page as Markdown.
pub(super) fn to_markdown(html: &str) -> String {
    let main = written(html, true);
    if main.trim().is_empty() {
        written(html, false)
    } else {
        main
    }
}

/// The text of a page, or of its `main` alone.
fn written(html: &str, only_main: bool) -> String {
    let mut writer = Writer::default();
    let mut hidden: Vec<Vec<u8>> = Vec::new();
    let (mut mains, mut title) = (0usize, false);
    for Ok(token) in Tokenizer::new(html) {
        let shows = hidden.is_empty() && (!only_main || mains > 0);
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                mains += usize::from(name == "main");
                if name == "title" {
                    title = true;
                } else if !hidden.is_empty() {
                    // Within what is hidden, only what could end it counts.
                    if hidden.last().is_some_and(|open| *open == *tag.name) && !tag.self_closing {
                        hidden.push(tag.name.to_vec());
                    }
                } else if HIDDEN.contains(&&*name) && !tag.self_closing {
                    hidden.push(tag.name.to_vec());
                } else if shows {
                    writer.start(&name);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                if name == "title" {
                    title = false;
                } else if hidden.last().is_some_and(|open| *open == *tag.name) {
                    hidden.pop();
                } else if name == "body" || name == "html" {
                    hidden.clear();
                } else if shows {
                    writer.end(&name);
                }
                if name == "main" {
                    mains = mains.saturating_sub(1);
                }
            }
            Token::String(text) => {
                let text = String::from_utf8_lossy(&text);
                if title && !only_main {
                    writer.title(&text);
                } else if shows && !title {
                    writer.text(&text);
                }
            }
            _ => {}
        }
    }
    writer.markdown
}

#[derive(Default)]
struct Writer {
    markdown: String,
    /// The number of `pre` that are open.
    verbatim: usize,
    /// Set while the next text begins a line.
    is_new: bool,
}

impl Writer {
    fn title(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() && self.markdown.is_empty() {
            self.markdown = format!("# {}\n", words.join(" "));
            self.is_new = true;
        }
    }

    fn start(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block();
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.markdown.push_str(&"#".repeat(level));
                self.markdown.push(' ');
                self.is_new = true;
            }
            "pre" => {
                self.block();
                if self.verbatim == 0 {
                    self.markdown.push_str("```\n");
                }
                self.verbatim += 1;
            }
            "li" => {
                self.line();
                self.markdown.push_str("- ");
                self.is_new = true;
            }
            "td" | "th" if !self.markdown.ends_with('\n') && !self.markdown.is_empty() => {
                self.markdown.push_str(" | ");
                self.is_new = true;
            }
            "br" => self.line(),
            "tr" => self.line(),
            _ if BLOCKS.contains(&name) => self.block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "pre" if self.verbatim > 0 => {
                self.verbatim -= 1;
                if self.verbatim == 0 {
                    self.line();
                    self.markdown.push_str("```\n");
                    self.is_new = true;
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "p" | "table" | "ul" | "ol" => self.block(),
            "li" | "tr" | "dt" | "dd" | "div" => self.line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.verbatim > 0 {
            self.markdown.push_str(text);
            return;
        }
        for (at, word) in text.split_whitespace().enumerate() {
            let parts = at > 0 || text.starts_with(char::is_whitespace);
            if parts && !self.is_new && !self.markdown.ends_with([' ', '\n']) {
                self.markdown.push(' ');
            }
            self.markdown.push_str(word);
            self.is_new = false;
        }
        let ends = text.ends_with(char::is_whitespace);
        if ends
            && !self.is_new
            && !self.markdown.ends_with([' ', '\n'])
            && !self.markdown.is_empty()
        {
            self.markdown.push(' ');
        }
    }

    /// Begins a line.
    fn line(&mut self) {
        if self.verbatim > 0 {
            if !self.markdown.ends_with('\n') {
                self.markdown.push('\n');
            }
            return;
        }
        let end = self.markdown.trim_end_matches(' ').len();
        self.markdown.truncate(end);
        if !self.markdown.is_empty() && !self.markdown.ends_with('\n') {
            self.markdown.push('\n');
        }
        self.is_new = true;
    }

    /// Begins a paragraph.
    fn block(&mut self) {
        self.line();
        if self.verbatim == 0 && !self.markdown.is_empty() && !self.markdown.ends_with("\n\n") {
            self.markdown.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_what_one_reads_of_it() {
        let page = "<!DOCTYPE html><html><head><title>The  pump</title><style>p{}</style><script>alert('<p>')</script></head>\
            <body><nav><a href=/>Home</a></nav><main><h2>Start &amp; stop</h2><p>Turn <b>the</b>\n valve.<p>Then wait.\
            <ul><li>one<li>two</ul><pre>a\n  b</pre><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table>\
            </main><footer>Imprint</footer>";
        assert_eq!(
            to_markdown(page),
            "## Start & stop\n\nTurn the valve.\n\nThen wait.\n\n- one\n- two\n\n```\na\n  b\n```\n\nk | v\n1 | 2\n\n"
        );
        let bare = to_markdown("<title>T</title><p>Text");
        assert_eq!(bare, "# T\n\nText");
    }

    #[test]
    fn broken_pages_are_read_as_far_as_they_go() {
        assert_eq!(to_markdown("a < b &lt; c <p"), "a < b < c ");
        assert_eq!(to_markdown("<nav>x<nav>y</nav>z</nav><p>shown"), "shown");
        assert_eq!(to_markdown("<script>never closed <p>x"), "");
        assert_eq!(to_markdown(&"<div>".repeat(100_000)), "");
        assert_eq!(to_markdown("</pre></p></nav>x"), "x");
    }
}
