//! Copies of what a tenant keeps: the export, the import, and the rows of both besides beliefs and texts.

pub(crate) mod export;
pub(crate) mod export_rows;
pub(crate) mod import;
pub(crate) mod import_rows;
