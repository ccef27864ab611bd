//! Chat templates from files.

use std::path::Path;

use tenure::{ChatTemplate, Error};

use tenure_adapters::read::read_text;

/// The file that holds the special tokens of a template.
const CONFIG: &str = "tokenizer_config.json";

/// The chat template in a file: Jinja, or a `tokenizer_config.json` that holds one. A `tokenizer_config.json` next to
/// a Jinja file defines its special tokens.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line.
pub fn load_template(path: &Path) -> Result<ChatTemplate, Error> {
    let text = read_text(path)?;
    let config = path.with_file_name(CONFIG);
    let beside = if config != path && config.is_file() {
        Some(read_text(&config)?)
    } else {
        None
    };
    ChatTemplate::read(&text, beside.as_deref()).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        let own = error.at.as_ref().is_none_or(|at| at.source != CONFIG || beside.is_none());
        let file = if own { path } else { &config };
        error.at(file.display().to_string(), line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_template_finds_its_tokens_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat_template.jinja");
        fs::write(
            &path,
            "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}",
        )
        .unwrap();
        let missing = load_template(&path).unwrap_err();
        assert!(missing.what.contains("not defined"), "{missing}");
        assert_eq!(missing.at.unwrap().source, path.display().to_string());
        let config = folder.path().join("tokenizer_config.json");
        fs::write(&config, "{\"bos_token\": {\"content\": \"<s>\"}}").unwrap();
        load_template(&path).unwrap();
        fs::write(&config, "{\"bos_token\": 1,\n nothing}").unwrap();
        let broken = load_template(&path).unwrap_err().at.unwrap();
        assert_eq!(
            (broken.source, broken.line),
            (config.display().to_string(), Some(2))
        );
        fs::write(&config, "{\"bos_token\": null}").unwrap();
        let none = load_template(&config).unwrap_err();
        assert_eq!(none.what, "the file holds no chat template");
    }
}
