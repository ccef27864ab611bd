//! Which file of a crate imports which: read from the sources, without a compiler.
//!
//! A file is known by its module, as `provider::wire::read`. What it imports is where the name is defined: a name that a
//! module only passes on is followed to the file that has it. Tests within files are left out. What is reached by the name of a
//! module that was imported (`use a::b; b::f()`) counts as an import of that module, and a name that is passed on as another is not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// The segments of a module's path; none for the root.
type Module = Vec<String>;

/// The files of a crate with their imports.
pub(crate) struct Imports {
    texts: BTreeMap<Module, String>,
    /// What a module passes on by name, and the modules all of whose names it passes on.
    passed: BTreeMap<Module, BTreeMap<String, Module>>,
    globs: BTreeMap<Module, Vec<Module>>,
    /// From a module to those that it imports from; what parents pass on of their children is no import.
    edges: BTreeMap<Module, BTreeSet<Module>>,
    /// The same, each with the name that is imported.
    names: Vec<(Module, Module, String)>,
}

static USE: LazyLock<Regex> = LazyLock::new(|| {
    let tree = r"(?:\w+::)*(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\w+|\*)";
    Regex::new(&format!(
        r"(pub(?:\([^)]*\))?\s+)?\buse\s+({tree})\s*(?:as\s+\w+)?\s*;"
    ))
    .unwrap()
});
static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").unwrap());
static TESTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"#\[cfg\(test\)\]\s*mod tests\s*\{").unwrap());
static ROOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b((?:crate|super|self)(?:::\w+)+)").unwrap());
static BELOW: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"([:\w]?)\b([a-z_]\w*)::\w+").unwrap());

impl Imports {
    /// Reads the sources below this folder.
    pub(crate) fn of(src: &Path) -> Imports {
        let mut imports = Imports {
            texts: BTreeMap::new(),
            passed: BTreeMap::new(),
            globs: BTreeMap::new(),
            edges: BTreeMap::new(),
            names: Vec::new(),
        };
        let mut files = Vec::new();
        sources(src, &mut files);
        for file in files {
            let relative = file.strip_prefix(src).unwrap().with_extension("");
            let mut module: Module =
                relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            match module.last().map(String::as_str) {
                Some("mod") => drop(module.pop()),
                Some("lib" | "main") if module.len() == 1 => module.clear(),
                Some("tests") => continue,
                _ => {}
            }
            let text = fs::read_to_string(&file).unwrap();
            let text = COMMENT.replace_all(&text, "");
            let end = TESTS.find(&text).map_or(text.len(), |found| found.start());
            imports.texts.insert(module, text[..end].to_owned());
        }
        imports.note_what_is_passed_on();
        imports.note_what_is_imported();
        imports
    }

    /// The imports, each from a module to another.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (&Module, &Module)> {
        self.edges.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)))
    }

    /// The same, each with the name that is imported.
    pub(crate) fn names(&self) -> &[(Module, Module, String)] {
        &self.names
    }

    /// How many files there are.
    pub(crate) fn files(&self) -> usize {
        self.texts.len()
    }

    /// The sets of files that import each other, near or far. A file that imports from the module it stands in is
    /// left out of account.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<String>> {
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            self.edges.keys().map(|from| (from, self.reach(from))).collect();
        let mut circles = BTreeSet::new();
        for (from, found) in &reach {
            let back = |to: &&&Module| reach.get(*to).is_some_and(|back| back.contains(*from));
            let circle: BTreeSet<String> =
                found.iter().filter(back).map(|module| module.join("::")).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// All that a module imports, near or far.
    fn reach(&self, from: &Module) -> BTreeSet<&Module> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&Module> = vec![from];
        while let Some(next) = open.pop() {
            let Some((own, direct)) = self.edges.get_key_value(next) else {
                continue;
            };
            for to in direct {
                if !own.starts_with(to) && found.insert(to) {
                    open.push(to);
                }
            }
        }
        found
    }

    fn note_what_is_passed_on(&mut self) {
        for (module, text) in &self.texts {
            for found in USE.captures_iter(text).filter(|found| found.get(1).is_some()) {
                for path in expanded(&found[2]) {
                    let Some(mut full) = self.absolute(module, &path) else {
                        continue;
                    };
                    if full.last().is_some_and(|last| last == "*") {
                        full.pop();
                        self.globs.entry(module.clone()).or_default().push(full);
                    } else if let Some(name) = full.last().cloned() {
                        let passed = self.passed.entry(module.clone()).or_default();
                        passed.insert(name, full);
                    }
                }
            }
        }
    }

    fn note_what_is_imported(&mut self) {
        let mut names = Vec::new();
        for (module, text) in self.texts.iter().filter(|(module, _)| !module.is_empty()) {
            let uses = USE.captures_iter(text);
            let mut paths: Vec<Module> = uses
                .filter(|found| found.get(1).is_none())
                .flat_map(|found| expanded(&found[2]))
                .collect();
            let rest = USE.replace_all(text, "");
            let split = |path: &str| path.split("::").map(str::to_owned).collect();
            paths.extend(ROOTED.captures_iter(&rest).map(|found| split(&found[1])));
            let below = BELOW.captures_iter(&rest).filter(|found| {
                found[1].is_empty() && !matches!(&found[2], "crate" | "self" | "super")
            });
            paths.extend(below.map(|found| split(&found[0])));
            for full in paths.iter().filter_map(|path| self.absolute(module, path)) {
                let to = self.defining(&full, 0);
                if to != *module && !to.is_empty() {
                    let name = full.last().cloned().unwrap_or_default();
                    names.push((module.clone(), to, name));
                }
            }
        }
        for (from, to, _) in &names {
            let edges = self.edges.entry(from.clone()).or_default();
            edges.insert(to.clone());
        }
        self.names = names;
    }

    /// The path from the root, for one that may begin in this crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (&module[..], &path[1..]),
            "super" => (&module[..module.len().checked_sub(ups)?], &path[ups..]),
            first => {
                let child = [&module[..], &[first.to_owned()]].concat();
                self.texts.contains_key(&child).then_some(())?;
                (&module[..], path)
            }
        };
        Some([base, rest].concat())
    }

    /// The module whose file defines what this path names.
    fn defining(&self, path: &[String], depth: usize) -> Module {
        let mut module = Module::new();
        for (at, part) in path.iter().enumerate() {
            let child = [&module[..], std::slice::from_ref(part)].concat();
            if self.texts.contains_key(&child) {
                module = child;
                continue;
            }
            let passed = self.passed.get(&module).and_then(|passed| passed.get(part));
            if let Some(full) = passed.filter(|full| **full != child && depth < 12) {
                let full = [&full[..], &path[at + 1..]].concat();
                return self.defining(&full, depth + 1);
            }
            let named = Regex::new(&format!(
                r#"(?:struct|enum|fn|trait|type|const|static)\s+{part}\b|\n    {part} \(""#
            ));
            let globs = self.globs.get(&module).into_iter().flatten();
            let mut has = globs.filter(|glob| {
                let text = self.texts.get(*glob);
                text.is_some_and(|text| named.as_ref().is_ok_and(|named| named.is_match(text)))
            });
            return has.next().cloned().unwrap_or(module);
        }
        module
    }
}

/// The paths of a tree of imports: of `a::{b, c::{d, e}}`, three.
fn expanded(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree);
        return vec![name.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let (mut depth, mut from, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[from..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expanded(&format!("{before}{}", part.trim()))).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
