//! Pages that show what a compile did: HTML and SVG, without script, from the records and traces that there are anyway.
//!
//! Every page is a pure function of what it shows. [`report`] puts a compile into one file that opens offline;
//! [`pages`] makes the pages that `tenure serve` has at `/inspect`.
//!
//! Names and contents are of others, and hostile: they are escaped by the templates, isolated in their direction, and
//! nothing in them is hidden. No URL is ever taken from a text.
//!
//! ```
//! use tenure::{Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, World};
//! use tenure_inspector::{Compile, report};
//!
//! let world = World::for_model("gpt-4o", FrameKey::new("example", [7; 32]))?;
//! let rule = ObjectDocument::rule("<b>units</b>", "Report pressure in pascal.").seal()?;
//! let budget = Budget { tokens: Some(500), ..Budget::default() };
//! let request = Request::new("Report the pressure.", budget);
//! let policy = Policy::preset("standard")?;
//! let outcome = tenure::compile(&world, &policy, &request, &Candidates::new(vec![rule]), &Facts::none())?;
//! let compiled = outcome.single()?;
//! let page = report(&[Compile {
//!     envelope: Some(&compiled.envelope),
//!     ..Compile::of("example", &compiled.trace)
//! }]);
//! assert!(page.contains("&lt;b&gt;units&lt;/b&gt;") && !page.contains("<b>units"));
//! # Ok::<(), tenure::Error>(())
//! ```

mod attention;
mod compile;
mod difference;
mod drift;
mod exchange;
mod gather;
mod items;
mod links;
mod messages;
mod money;
mod object;
mod overview;
pub mod pages;
mod payload;
mod read;
mod registry;
mod report;
mod session;
mod shell;
mod svg;
mod text;
mod trends;
mod waiting;
mod weights;

pub use attention::MOST_WEIGHTS;
pub use compile::Compile;
pub use difference::Bodies;
pub use gather::{Depth, Gathered, before, compile_of, report_stored, report_text};
pub use items::{Filter, ROWS};
pub use links::{Links, ROOT, View, encode};
pub use messages::MessageFilter;
pub use object::{AsOf, Then};
pub use overview::{ListFilter, Totals};
pub use read::{Found, read};
pub use report::{of_compiles as report, of_exchange as report_exchange, of_talk as report_talk};
pub use session::SessionView;
pub use shell::{Frame, SCRIPT, SCRIPT_PATH, STYLE, STYLE_PATH, message, onward, sign_in};
pub use waiting::{Asking, Waiting};
pub use weights::Attention;
