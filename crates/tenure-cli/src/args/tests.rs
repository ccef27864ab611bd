//! Every page of `--help`, looked at as a user would.

use clap::{Arg, Command};

use super::command;

/// The most lines of a `-h`.
const SCREEN: usize = 41;
/// The most options of a page without groups.
const UNGROUPED: usize = 8;

/// Calls `each` with every page and its path, the program's name first.
fn each_page(each: &mut dyn FnMut(&[String], &mut Command)) {
    let mut whole = command();
    whole.build();
    walk(&mut whole, &mut Vec::new(), each);
}

fn walk(page: &mut Command, path: &mut Vec<String>, each: &mut dyn FnMut(&[String], &mut Command)) {
    path.push(page.get_name().to_owned());
    each(path, page);
    let parts = page.get_subcommands_mut();
    for part in parts.filter(|part| part.get_name() != "help") {
        walk(part, path, each);
    }
    path.pop();
}

/// The lines of a page's examples, without what is said of them.
fn examples(page: &Command) -> Vec<String> {
    let after = page.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = after.strip_prefix("Examples:\n").unwrap_or_default();
    let commands = lines.lines().map(|line| {
        let line = line.trim();
        line.split_once("  ").map_or(line, |(line, _)| line)
    });
    commands.map(str::to_owned).collect()
}

/// The words of a line as a shell reads it, of which only single quotes are used; a word of its own for `|` and `>`.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_page_ends_with_examples_of_its_own() {
    let mut pages = 0;
    each_page(&mut |path, page| {
        pages += 1;
        let found = examples(page);
        assert!(!found.is_empty(), "{path:?} has no examples");
        let own = path.join(" ");
        for line in &found {
            assert!(line.contains(&own), "{own}: `{line}` is of another page");
        }
        for long in [false, true] {
            let shown = if long {
                page.render_long_help().to_string()
            } else {
                page.render_help().to_string()
            };
            let last = shown.trim_end().lines().last().unwrap_or_default();
            let is_last = found.last().is_some_and(|line| last.contains(&**line));
            assert!(is_last, "{own} ends with `{last}`");
        }
    });
    assert!(pages > 60, "{pages} pages");
}

#[test]
fn every_example_is_understood() {
    each_page(&mut |path, page| {
        for line in examples(page) {
            let words = words(&line);
            let own: Vec<_> = words
                .split(|word| word == "|")
                .map(|call| call.split(|word| word == ">").next().unwrap_or(call))
                .filter(|call| call[0] == "tenure")
                .collect();
            assert!(!own.is_empty(), "{path:?}: `{line}` calls nothing");
            for call in own {
                if let Err(error) = command().try_get_matches_from(call) {
                    panic!("{path:?}: `{line}`: {error}");
                }
            }
        }
    });
}

#[test]
fn every_option_of_a_long_page_is_in_a_group() {
    let mut grouped = 0;
    each_page(&mut |path, page| {
        let options: Vec<&Arg> = page.get_arguments().filter(|arg| !arg.is_positional()).collect();
        let own = options.iter().filter(|arg| arg.get_id() != "help");
        if own.count() <= UNGROUPED {
            return;
        }
        grouped += 1;
        for arg in options {
            let heading = arg.get_help_heading();
            assert!(
                heading.is_some(),
                "{path:?}: --{} has no group",
                arg.get_id()
            );
        }
    });
    assert!(grouped > 10, "{grouped} pages have groups");
}

#[test]
fn the_short_help_fits_a_screen() {
    let mut wrong = String::new();
    for width in [80, 100] {
        each_page(&mut |path, page| {
            let shown = page.clone().term_width(width).render_help().to_string();
            let lines = shown.trim_end().lines().count();
            let widest = shown.lines().map(|line| line.chars().count()).max();
            if lines > SCREEN || widest > Some(width) {
                let path = path.join(" ");
                wrong +=
                    &format!("{path}: {lines} lines, {widest:?} of {width} columns\n{shown}\n");
            }
        });
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_long_help_shows_what_the_short_one_leaves_out() {
    let mut hidden = 0;
    each_page(&mut |path, page| {
        let (short, long) = (
            page.render_help().to_string(),
            page.render_long_help().to_string(),
        );
        for arg in page.get_arguments() {
            let Some(flag) = arg.get_long() else { continue };
            let flag = format!("--{flag} ");
            let has = |text: &str| text.replace(['\n', ',', '['], " ").contains(&flag);
            assert!(has(&long), "{path:?}: {flag} is not in --help");
            hidden += usize::from(!has(&short));
        }
    });
    assert!(hidden > 50, "{hidden} options are hidden");
}
