//! `tenure context`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use tenure::package::{
    ContextPackage, CutReason, Engine, JsonPath, LabelTable, MemoryNamespace, PackageDiff, Plan,
    RecipeVectors, RetrievalRecipe, Selector, Shown, diff, name_of, plan_of,
};
use tenure::{Digest, Error, ErrorKind, Principal};
use tenure_workspace::decide::{self, Decider};
use tenure_workspace::embed::Embedder;
use tenure_workspace::packages::{Bearing, Filtered, Packages, Packed, manifest_of};
use tenure_workspace::trust::{Kind, Thing, Trust};
use tenure_workspace::{Clock, read_text, write_whole};

use super::models::grouped;
use super::{
    instant, note, print, print_bytes, print_json, read_or_stdin, search_embedder, speak,
    without_key,
};
use crate::args::*;
use crate::failure::{Failure, cell, printable, warning};

/// The most lines about items of a kind.
const MAX_LINES: usize = 20;

/// Does what the subcommand says.
pub(crate) fn run(args: &ContextArgs) -> Result<(), Failure> {
    match &args.command {
        ContextCommand::Pack(args) => pack(args),
        ContextCommand::Activate(args) => activate(args),
        ContextCommand::Deactivate(args) => deactivate(args),
        ContextCommand::Explain(args) => explain(args),
        ContextCommand::Refresh(args) => refresh(args),
        ContextCommand::List(args) => list(args),
        ContextCommand::Show(args) => show(args),
        ContextCommand::Diff(args) => compare(args),
        ContextCommand::Merge(args) => merge(args),
        ContextCommand::Export(args) => export(args),
        ContextCommand::Import(args) => import(args),
        ContextCommand::Accept(args) => accept(args),
        ContextCommand::Sweep(args) => sweep(args),
    }
}

/// The caller that the arguments name, else the owner.
fn caller(args: &CallerArgs) -> Result<Principal, Error> {
    let mut caller = Principal::owner();
    speak(&mut caller, args)?;
    Ok(caller)
}

/// The table of labels that the arguments name, else the one that is found at the root.
pub(super) fn labels(named: Option<&Path>, root: &Path) -> Result<LabelTable, Error> {
    if let Some(path) = named {
        return labels_of(path);
    }
    // Of a root that is not there, what asks for its packages says so.
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let thing = Thing::of(&root, Kind::Labels);
    let believed = Trust::of_user().check(&thing)?;
    believed.and_then(|believed| believed.text).map_or_else(
        || Ok(LabelTable::default()),
        |text| LabelTable::from_toml(&text, &thing.path().display().to_string()),
    )
}

/// The packages that are found at a root.
fn packages_at(root: &RootArgs) -> Result<Packages, Error> {
    let packages = Packages::found(&root.root, &Trust::of_user())?;
    packages.note()?.into_iter().for_each(note);
    Ok(packages)
}

/// The table of labels in a file.
pub(super) fn labels_of(path: &Path) -> Result<LabelTable, Error> {
    LabelTable::from_toml(&read_text(path)?, &path.display().to_string())
}

/// The external decision point that the arguments name.
pub(super) fn decider(path: Option<&Path>) -> Result<Option<Box<dyn Decider>>, Error> {
    path.map(decide::open).transpose()
}

/// Summaries by the digests of what each is of.
fn summaries(path: Option<&Path>) -> Result<BTreeMap<Digest, String>, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Line {
        digest: Digest,
        summary: String,
    }
    let Some(path) = path else {
        return Ok(BTreeMap::new());
    };
    let text = read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let read: Line = serde_json::from_str(line).map_err(|error| {
                Error::input(format!("not a summary: {error}"))
                    .at(path.display().to_string(), Some(at + 1))
                    .expected("{\"digest\": \"sha256:…\", \"summary\": \"…\"}")
            })?;
            Ok((read.digest, read.summary))
        })
        .collect()
}

fn plan(args: &ContextPackArgs, packages: &Packages) -> Result<Plan, Error> {
    let mut plan = match &args.manifest {
        Some(path) => plan_of(
            manifest_of(&read_text(path)?, path)?,
            &path.display().to_string(),
        )?,
        None => {
            let query = args.query.clone().unwrap_or_default();
            let sources = args.source_files.iter().map(|path| packages.name_of(path));
            let kind = if args.search {
                Engine::Search
            } else if query.starts_with('$') {
                Engine::Jsonpath
            } else {
                Engine::Selector
            };
            // A mistake in it is told before one in the sources.
            match kind {
                Engine::Selector => drop(Selector::new(&query)?),
                Engine::Jsonpath => drop(JsonPath::new(&query)?),
                _ => {}
            }
            Plan {
                name: name_of(args.title.as_deref().unwrap_or(&query)),
                recipes: vec![RetrievalRecipe {
                    engine: None,
                    kind,
                    limit: args.limit,
                    paths: args.paths.clone(),
                    query,
                    sources: sources.collect::<Result<_, _>>()?,
                    vectors: None,
                }],
                ..Plan::default()
            }
        }
    };
    if let Some(name) = &args.name {
        plan.name.clone_from(name);
    }
    if let Some(title) = &args.title {
        plan.title.clone_from(title);
    }
    if let Some(intent) = &args.intent {
        plan.intent.clone_from(intent);
    }
    for coordinate in &args.coordinates {
        plan.namespace = plan.namespace.narrowed(&MemoryNamespace::target(coordinate)?);
    }
    let budget = &mut plan.budget;
    budget.max_items = args.max_items.or(budget.max_items);
    budget.max_tokens = args.max_tokens.or(budget.max_tokens);
    budget.reserve = args.reserve.or(budget.reserve);
    if let Some(model) = &args.model {
        budget.model.clone_from(model);
    }
    if let Some(until) = &args.until {
        plan.retention.expires = Some(instant(until, "--until")?);
    }
    if let Some(review) = &args.review {
        plan.retention.review = Some(instant(review, "--review")?);
    }
    plan.reviewed |= args.reviewed;
    Ok(plan)
}

/// Says in the recipes that search which encoder ranks them.
fn name_encoder(plan: &mut Plan, embedder: Option<&dyn Embedder>) -> Result<(), Error> {
    let Some(model) = embedder.map(Embedder::model) else {
        return Ok(());
    };
    let searches =
        |recipe: &&mut RetrievalRecipe| recipe.engine.unwrap_or(recipe.kind) == Engine::Search;
    let mut any = false;
    for recipe in plan.recipes.iter_mut().filter(searches) {
        any = true;
        recipe.vectors.get_or_insert_with(|| RecipeVectors {
            digest: model.digest,
            model: model.name.clone(),
        });
    }
    if any {
        return Ok(());
    }
    let error = Error::new(
        ErrorKind::Usage,
        "`--embedder` ranks a search, and this is none",
    );
    Err(error.hint("add `--search`, or a recipe that searches"))
}

fn pack(args: &ContextPackArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let mut plan = plan(args, &packages)?;
    let embedder = search_embedder(&args.embedder)?;
    name_encoder(&mut plan, embedder.as_deref())?;
    let world = without_key(&args.catalogue)?.world(&plan.budget.model)?;
    let packed = packages.pack(
        plan,
        &Bearing {
            caller: &caller(&args.caller)?,
            labels: &labels(args.labels.labels.as_deref(), &args.root.root)?,
            decider: decider(args.labels.decisions.as_deref())?.as_deref(),
            tokenizer: world.tokenizer(),
            now: Clock::machine().now(),
            summaries: &summaries(args.summaries.as_deref())?,
            embedder: embedder.as_deref(),
        },
    )?;
    told(&packed, args.format)
}

/// Prints what was packed.
fn told(packed: &Packed, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(packed);
    }
    kept_out(&packed.filtered);
    for diagnostic in &packed.package.diagnostics {
        anstream::eprintln!("note: {}", printable(diagnostic));
    }
    let cut = &packed.package.cut;
    let held = cut.iter().filter(|cut| cut.reason == CutReason::Contained).count();
    let told = match (cut.len() - held, held) {
        (0, 0) => String::new(),
        (0, held) => format!("{held} more are part of these"),
        (unfit, 0) => format!("{unfit} more did not fit"),
        (unfit, held) => format!("{unfit} more did not fit, {held} are part of these"),
    };
    if !told.is_empty() {
        let name = printable(&packed.name);
        anstream::eprintln!("{told}; `tenure context show {name}` lists them");
    }
    let standing = match (packed.is_proposal, packed.is_new) {
        (true, _) => format!(
            "proposed; `tenure context accept {} --by WHO` makes it the latest",
            packed.name
        ),
        (false, true) => format!("version {}", packed.version),
        (false, false) => format!("version {}, which was there", packed.version),
    };
    print(&format!(
        "{}\n{}: {} items, {} tokens, {}\n",
        packed.id,
        cell(&packed.name),
        packed.package.items.len(),
        grouped(packed.package.tokens()),
        cell(&standing)
    ))
}

/// Names what labels keep out.
fn kept_out(filtered: &[Filtered]) {
    for one in filtered.iter().take(MAX_LINES) {
        let labels = one.labels.join(", ");
        warning(&format!(
            "{}: `{}` is kept out by its labels [{labels}]",
            one.path, one.name
        ));
    }
    let more = filtered.len().saturating_sub(MAX_LINES);
    if more > 0 {
        warning(&format!("{more} more are kept out by their labels"));
    }
}

fn activate(args: &ContextActivateArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let found = packages.find(&args.package)?;
    let world = without_key(&args.catalogue)?.world(&found.package.budget.model)?;
    let shown = if args.raw { Shown::Raw } else { Shown::Framed };
    let (activation, filtered) = packages.activate(
        &found,
        &args.target,
        shown,
        &Bearing {
            caller: &caller(&args.caller)?,
            labels: &labels(args.labels.labels.as_deref(), &args.root.root)?,
            decider: decider(args.labels.decisions.as_deref())?.as_deref(),
            tokenizer: world.tokenizer(),
            now: Clock::machine().now(),
            summaries: &BTreeMap::new(),
            embedder: None,
        },
    )?;
    if args.format == Format::Json {
        return print_json(&activation);
    }
    print_bytes(activation.content.as_bytes())?;
    for diagnostic in &activation.diagnostics {
        anstream::eprintln!("note: {}", printable(diagnostic));
    }
    let results = activation.policy_results;
    if args.operator {
        kept_out(&filtered);
    } else if results.withheld > 0 {
        anstream::eprintln!(
            "{} of {} items are withheld",
            results.withheld,
            results.checked
        );
    }
    anstream::eprintln!("{}, {} tokens", activation.id, grouped(activation.tokens));
    Ok(())
}

fn deactivate(args: &ContextDeactivateArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let ended = packages.deactivate(&args.activation, Clock::machine().now())?;
    if args.format == Format::Json {
        return print_json(&ended);
    }
    let lines = ended.iter().map(|one| format!("{} has ended\n", one.id));
    print(&lines.collect::<String>())
}

fn explain(args: &ContextOneArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let found = packages.find(&args.package)?;
    let explained = packages.explain(&found.package);
    if args.format == Format::Json {
        let package = &found.package;
        return print_json(&serde_json::json!({
            "id": found.id, "name": package.name, "capabilities": package.capabilities,
            "retrieval_recipes": package.retrieval_recipes, "diagnostics": package.diagnostics, "items": explained,
        }));
    }
    let mut out = format!("{}\n", found.id);
    for item in &explained {
        let now = match item.now.filter(|now| *now != item.lines) {
            Some(now) => format!(", now {}-{}", now.0, now.1),
            None => String::new(),
        };
        let line = format!(
            "{:<8}{}:{}-{}{now}  {}  {}",
            item.standing.map_or("", |standing| standing.term()),
            cell(&item.path),
            item.lines.0,
            item.lines.1,
            item.kind,
            cell(&item.name)
        );
        let _ = writeln!(out, "{}", line.trim_end());
        let _ = writeln!(out, "        found by {}", cell(&item.selector));
    }
    let engines: Vec<&str> =
        found.package.capabilities.engines.iter().map(|engine| engine.term()).collect();
    let _ = writeln!(out, "a refresh needs: {}", engines.join(", "));
    print(&out)
}

fn refresh(args: &ContextRefreshArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let found = packages.find(&args.package)?;
    let world = without_key(&args.catalogue)?.world(&found.package.budget.model)?;
    let embedder = search_embedder(&args.embedder)?;
    let refreshed = packages.refresh(
        &found,
        &Bearing {
            caller: &caller(&args.caller)?,
            labels: &labels(args.labels.labels.as_deref(), &args.root.root)?,
            decider: decider(args.labels.decisions.as_deref())?.as_deref(),
            tokenizer: world.tokenizer(),
            now: Clock::machine().now(),
            summaries: &BTreeMap::new(),
            embedder: embedder.as_deref(),
        },
    )?;
    if args.format == Format::Json {
        return print_json(&refreshed);
    }
    told(&refreshed.packed, args.format)?;
    print(&shown(&refreshed.diff))
}

/// A difference, a line for each item.
fn shown(diff: &PackageDiff) -> String {
    let mut out = String::new();
    let lists = [
        ("added", &diff.added),
        ("changed", &diff.changed),
        ("moved", &diff.moved),
        ("removed", &diff.removed),
    ];
    for (word, changes) in lists {
        for change in changes {
            let lines = change.lines.1.or(change.lines.0).unwrap_or_default();
            let _ = writeln!(
                out,
                "{word:<8}{}:{}-{}  {}  {} → {} tokens",
                cell(&change.path),
                lines.0,
                lines.1,
                cell(&change.name),
                change.tokens.0,
                change.tokens.1
            );
        }
    }
    if !diff.fields.is_empty() {
        let _ = writeln!(out, "differ: {}", diff.fields.join(", "));
    }
    let _ = writeln!(out, "{} same", diff.same);
    out
}

fn list(args: &ContextListArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    if args.activations {
        let activations = packages.activations(true)?;
        if args.format == Format::Json {
            return print_json(&activations);
        }
        let lines = activations.iter().map(|one| {
            let state = if one.active { "active" } else { "ended" };
            format!(
                "{}  {state}  {}  {}\n",
                one.id,
                cell(&one.target),
                one.package
            )
        });
        return print(&lines.collect::<String>());
    }
    let listed = packages.list()?;
    if args.format == Format::Json {
        return print_json(&listed);
    }
    let now = Clock::machine().now();
    let mut out = String::new();
    for one in &listed {
        let id = one.versions.last().map_or("", |version| version.id.as_str());
        let _ = write!(
            out,
            "{}  {} items, {} tokens, version {}",
            cell(&one.name),
            one.items,
            grouped(one.tokens),
            one.versions.len()
        );
        if !one.proposals.is_empty() {
            let _ = write!(out, ", {} proposed", one.proposals.len());
        }
        if one.retention.expires.is_some_and(|expires| expires <= now) {
            out.push_str(", expired");
        }
        if one.retention.review.is_some_and(|review| review <= now) {
            out.push_str(", due for review");
        }
        let _ = writeln!(out, "\n  {id}");
        if let Some(note) = &one.note {
            let _ = writeln!(out, "  {}", cell(note));
        }
    }
    print(&out)
}

fn show(args: &ContextOneArgs) -> Result<(), Failure> {
    let found = packages_at(&args.root)?.find(&args.package)?;
    if args.format == Format::Json {
        return print_json(&found);
    }
    print(&described(&found.id, &found.package))
}

fn described(id: &str, package: &ContextPackage) -> String {
    let title = if package.title.is_empty() {
        &package.name
    } else {
        &package.title
    };
    let mut out = format!("{}\n{id}\n", cell(title));
    if !package.intent.is_empty() {
        let _ = writeln!(out, "{}", cell(&package.intent));
    }
    let _ = writeln!(
        out,
        "{} items, {} tokens for {}",
        package.items.len(),
        grouped(package.tokens()),
        package.budget.model
    );
    for layer in &package.summary_layers {
        let _ = writeln!(
            out,
            "\nsummary ({}, {} tokens):\n{}",
            layer.method,
            layer.tokens,
            printable(&layer.text)
        );
    }
    out.push('\n');
    for item in &package.items {
        let span = &item.provenance;
        let _ = writeln!(
            out,
            "{}:{}-{}  {}  {}  {} tokens",
            cell(&span.path),
            span.lines.0,
            span.lines.1,
            span.unit_kind,
            cell(&item.name),
            item.tokens
        );
    }
    for cut in &package.cut {
        let _ = writeln!(
            out,
            "left out ({}): {}:{}-{}  {}  {} tokens",
            cut.reason,
            cell(&cut.path),
            cut.lines.0,
            cut.lines.1,
            cell(&cut.name),
            cut.tokens
        );
    }
    for diagnostic in &package.diagnostics {
        let _ = writeln!(out, "note: {}", cell(diagnostic));
    }
    out
}

fn compare(args: &ContextDiffArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let diff = diff(
        &packages.find(&args.before)?.package,
        &packages.find(&args.after)?.package,
    );
    match args.format {
        Format::Json => print_json(&diff),
        Format::Text => print(&shown(&diff)),
    }
}

fn merge(args: &ContextMergeArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let first = args.packages.first().map(String::as_str).unwrap_or_default();
    let model = packages.find(first)?.package.budget.model;
    let world = without_key(&args.catalogue)?.world(&model)?;
    let now = Clock::machine().now();
    let (packed, conflicts) = packages.merge(&args.name, &args.packages, world.tokenizer(), now)?;
    if args.format == Format::Json {
        return print_json(&serde_json::json!({"merged": packed, "conflicts": conflicts}));
    }
    for conflict in &conflicts {
        warning(&conflict.to_string());
    }
    told(
        &Packed {
            package: ContextPackage {
                diagnostics: Vec::new(),
                ..packed.package.clone()
            },
            ..packed
        },
        args.format,
    )
}

fn export(args: &ContextExportArgs) -> Result<(), Failure> {
    let found = packages_at(&args.root)?.find(&args.package)?;
    let value =
        serde_json::to_value(&found).map_err(|error| Error::assertion(error.to_string()))?;
    let text = format!("{value}\n");
    match &args.output {
        Some(path) => Ok(write_whole(path, text.as_bytes())?),
        None => print_bytes(text.as_bytes()),
    }
}

fn import(args: &ContextImportArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let source = args.file.display().to_string();
    let packed = packages.import(&read_or_stdin(&args.file)?, &source, Clock::machine().now())?;
    told(&packed, args.format)
}

fn accept(args: &ContextAcceptArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let packed = packages.accept(&args.package, &args.by, Clock::machine().now())?;
    told(&packed, args.format)
}

fn sweep(args: &ContextSweepArgs) -> Result<(), Failure> {
    let packages = packages_at(&args.root)?;
    let swept = packages.sweep(Clock::machine().now(), args.dry_run)?;
    if args.format == Format::Json {
        return print_json(&swept);
    }
    let mut out = String::new();
    for (name, id) in &swept.expired {
        let _ = writeln!(out, "expired  {}  {id}", cell(name));
    }
    for name in &swept.review {
        let _ = writeln!(out, "review   {}", cell(name));
    }
    let _ = writeln!(
        out,
        "{} expired, {} due for review",
        swept.expired.len(),
        swept.review.len()
    );
    print(&out)
}
