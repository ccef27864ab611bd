//! Media in a text: a line that says what was left out.

use crate::base::text::clip;

/// Media as it is found in a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Media {
    /// `image`, `document`, `audio` or the like.
    pub(crate) kind: &'static str,
    /// Its MIME type, where it is known.
    pub(crate) mime: Option<String>,
    pub(crate) source: Source,
}

/// The source of media.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Source {
    Base64(String),
    Url(String),
    /// Something that only the provider can read.
    Own,
}

impl Media {
    /// A line in the place of it: `[image left out: image/png, 12345 bytes]`.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("[{} left out", self.kind);
        let mut more = Vec::new();
        more.extend(self.mime.as_deref().map(clip));
        match &self.source {
            Source::Base64(data) => more.push(format!("{} bytes", data.len() / 4 * 3)),
            Source::Url(url) => more.push(clip(url)),
            Source::Own => {}
        }
        if !more.is_empty() {
            line.push_str(": ");
            line.push_str(&more.join(", "));
        }
        line.push(']');
        line
    }

    /// Media under a URL, which may hold them itself.
    pub(crate) fn of_url(kind: &'static str, url: String) -> Media {
        let held = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match held {
            Some((mime, data)) => Media {
                kind,
                mime: Some(mime.to_owned()),
                source: Source::Base64(data.to_owned()),
            },
            None => Media {
                kind,
                mime: None,
                source: Source::Url(url),
            },
        }
    }

    /// Returns whether it is bytes or an address, and no text of its own. A picture never is text.
    pub(crate) fn is_packed(&self) -> bool {
        self.kind == "image" || !matches!(self.source, Source::Own)
    }

    /// A URL of it, if it has one or can hold it.
    pub(crate) fn url(&self) -> Option<String> {
        match &self.source {
            Source::Base64(data) => {
                let mime = self.mime.as_deref().unwrap_or("application/octet-stream");
                Some(format!("data:{mime};base64,{data}"))
            }
            Source::Url(url) => Some(url.clone()),
            Source::Own => None,
        }
    }
}
