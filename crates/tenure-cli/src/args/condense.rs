//! The arguments of `tenure condense` and `tenure rehydrate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tenure::num::Score;

use super::{CatalogueArgs, Format, StoreUrl, tokens};

#[derive(Debug, Args)]
pub(crate) struct CondenseArgs {
    /// The text, or `-` for standard input; at most 64 MiB of UTF-8
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The most tokens that the result may have, its pointer included
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) to: u32,
    /// The reader's task: everything that it names is kept
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) task: String,
    /// The type of the text [default: detected]
    ///
    /// prose, markdown, json, log, search, stack_trace, diff, code, table or turns (messages of a conversation as JSON,
    /// which is not detected).
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Leave nothing out: print a lossless form, or the text unchanged
    #[arg(long)]
    pub(crate) lossless: bool,
    /// Warn if less than this share of its statements is left
    ///
    /// From 0 to 1 [default: 0.9 for prose, else no limit].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) floor: Option<Score>,
    /// Keep no original and print no pointer
    #[arg(long)]
    pub(crate) no_keep: bool,
    /// A model, or a path to a tokenizer.json
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) originals: OriginalsArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

fn share(given: &str) -> Result<Score, String> {
    let share = given.parse().ok().and_then(Score::new);
    share.ok_or_else(|| "a share is from 0 to 1".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct RehydrateArgs {
    /// The id of an original, 16 hexadecimal digits, or the whole pointer line
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) originals: OriginalsArgs,
    /// The output format: the bytes alone, or JSON with their id and digest
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// The place of originals, and the key of their ids.
#[derive(Debug, Args)]
pub(crate) struct OriginalsArgs {
    /// The folder of originals [default: the store, if there is one, else $XDG_STATE_HOME/tenure/originals;
    /// `rehydrate` looks in both]
    #[arg(long, value_name = "FOLDER", env = "TENURE_ORIGINALS", value_hint = ValueHint::DirPath)]
    pub(crate) originals: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The tenant of the store
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    /// The file that holds the workspace's key [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
}
