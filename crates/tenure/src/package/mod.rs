//! Packages: units of documents, the selectors that say which are meant, and what is gathered of them as portable
//! working memory. Nothing here reads a file: units come in, packages go out.

mod activate;
mod change;
mod form;
mod jsonpath;
mod labels;
mod manifest;
mod pack;
mod selector;
mod unit;

pub use activate::{Shown, documents, markdown};
pub use change::{Conflict, ItemChange, PackageDiff, diff, merge};
pub use form::*;
pub use jsonpath::{JsonPath, Located, Step};
pub use labels::{Action, LabelRule, LabelTable, allowed};
pub use manifest::{name_of, plan_of};
pub use pack::{DISTILLED, Draft, Plan, SUMMARY, pack};
pub use selector::{HeadingTest, Reach, Selector, nearest_name};
pub use unit::{DocumentUnits, Unit, UnitKind};

use crate::base::text::clip;
