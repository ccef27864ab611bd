//! A real ONNX Runtime and real models, made when they are not there yet (`scripts/onnx_models.py`).

#![allow(dead_code)] // helpers, of which no test uses all

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the models.
pub(crate) fn models() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("target/tools/onnx");
    let script = root.join("scripts/onnx_models.py");
    let made = Command::new("python3").arg(script).arg(&folder).status();
    assert!(
        made.is_ok_and(|status| status.success()),
        "scripts/onnx_models.py could not make the models: it needs python3 with venv, and PyPI"
    );
    folder.join("models").canonicalize().unwrap()
}

/// The library in it.
pub(crate) fn library() -> PathBuf {
    models().join("libonnxruntime.so")
}
