//! Drawings: the budget as a bar, and a treemap of sections with their items. SVG without script; colours are classes.

use maud::{Markup, html};
use tenure::section::Section;

use crate::text::{grouped, percent, plain};

/// The most items that a treemap draws of a section; the rest is one rectangle.
const MOST_ITEMS: usize = 60;
/// The size of a treemap, in its own units.
const SIZE: (f64, f64) = (960.0, 360.0);
/// The height of a section's title in a treemap.
const TITLE: f64 = 18.0;

/// A section to draw.
pub(crate) struct Area {
    pub(crate) section: Section,
    pub(crate) tokens: u64,
    pub(crate) items: Vec<Tile>,
}

/// An item to draw.
pub(crate) struct Tile {
    pub(crate) name: String,
    pub(crate) tokens: u64,
    /// The place of its row in the page.
    pub(crate) href: Option<String>,
}

/// The class that colours a section.
pub(crate) fn class(section: Section) -> String {
    format!("s{}", section.index())
}

/// The budget as a bar: what each section takes, what the provider adds, and what is free.
pub(crate) fn bar(areas: &[Area], overhead: u64, budget: u64) -> Markup {
    let used: u64 = areas.iter().map(|area| area.tokens).sum::<u64>() + overhead;
    let whole = budget.max(used).max(1) as f64;
    let width = |tokens: u64| tokens as f64 / whole * SIZE.0;
    let free = budget.saturating_sub(used);
    let mut parts: Vec<(String, String, u64)> = Vec::new();
    for area in areas {
        parts.push((class(area.section), area.section.to_string(), area.tokens));
    }
    parts.push((
        "overhead".to_owned(),
        "around the text".to_owned(),
        overhead,
    ));
    let label = format!(
        "{} of {} tokens used ({}), {} free",
        grouped(used),
        grouped(budget),
        percent(used, budget),
        grouped(free),
    );
    let mut x = 0.0;
    let placed: Vec<_> = parts
        .iter()
        .filter(|(_, _, tokens)| *tokens > 0)
        .map(|part| {
            let at = x;
            x += width(part.2);
            (part, at)
        })
        .collect();
    html! {
        svg.bar viewBox=(format!("0 0 {} 40", SIZE.0)) role="img" aria-label=(label) preserveAspectRatio="none" {
            rect.free x="0" y="0" width=(SIZE.0) height="40" {}
            @for ((class, name, tokens), at) in placed {
                rect class=(class) x=(round(at)) y="0" width=(round(width(*tokens))) height="40" {
                    title { (name) ": " (grouped(*tokens)) " tokens, " (percent(*tokens, budget)) " of the budget" }
                }
            }
        }
    }
}

/// A rectangle.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rect {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

/// A treemap of sections with their items: areas are tokens.
pub(crate) fn treemap(areas: &[Area]) -> Markup {
    let areas: Vec<&Area> = areas.iter().filter(|area| area.tokens > 0).collect();
    let sizes: Vec<f64> = areas.iter().map(|area| area.tokens as f64).collect();
    let whole = Rect {
        x: 0.0,
        y: 0.0,
        w: SIZE.0,
        h: SIZE.1,
    };
    let places = squarified(&sizes, whole);
    let label = format!("Tokens by section and item: {} sections", areas.len());
    html! {
        svg.treemap viewBox=(format!("0 0 {} {}", SIZE.0, SIZE.1)) role="group" aria-label=(label) {
            @for (area, place) in areas.iter().zip(places) {
                g class=(class(area.section)) {
                    (rect(place, "section", &format!("{}: {} tokens", area.section, grouped(area.tokens))))
                    @if place.h > TITLE && place.w > 30.0 {
                        text.title x=(round(place.x + 4.0)) y=(round(place.y + 13.0)) {
                            (fitting(&format!("{} {}", area.section, grouped(area.tokens)), place.w - 8.0))
                        }
                    }
                    (tiles(area, place))
                }
            }
        }
    }
}

fn tiles(area: &Area, place: Rect) -> Markup {
    let inner = Rect {
        x: place.x + 2.0,
        y: place.y + TITLE,
        w: place.w - 4.0,
        h: place.h - TITLE - 2.0,
    };
    if inner.w < 2.0 || inner.h < 2.0 {
        return html! {};
    }
    let mut tiles: Vec<&Tile> = area.items.iter().filter(|tile| tile.tokens > 0).collect();
    tiles.sort_by_key(|tile| std::cmp::Reverse(tile.tokens));
    let rest = tiles.split_off(tiles.len().min(MOST_ITEMS));
    let rest_tokens: u64 = rest.iter().map(|tile| tile.tokens).sum();
    let mut sizes: Vec<f64> = tiles.iter().map(|tile| tile.tokens as f64).collect();
    if rest_tokens > 0 {
        sizes.push(rest_tokens as f64);
    }
    let places = squarified(&sizes, inner);
    html! {
        @for (tile, place) in tiles.iter().zip(&places) {
            @let told = format!("{}: {} tokens", plain(&tile.name, 120), grouped(tile.tokens));
            @let caption = caption(&tile.name, *place);
            @if let Some(href) = &tile.href {
                // A cell too small for its name is told by its label.
                a href=(href) aria-label=[caption.0.is_empty().then_some(&told)] { (rect(*place, "item", &told)) (caption) }
            } @else {
                (rect(*place, "item", &told)) (caption)
            }
        }
        @if rest_tokens > 0 && let Some(place) = places.last() {
            (rect(*place, "item rest", &format!("{} more items: {} tokens", rest.len(), grouped(rest_tokens))))
        }
    }
}

fn rect(place: Rect, class: &str, told: &str) -> Markup {
    html! {
        rect class=(class) x=(round(place.x)) y=(round(place.y)) width=(round(place.w)) height=(round(place.h)) {
            title { (told) }
        }
    }
}

fn caption(name: &str, place: Rect) -> Markup {
    if place.h < 14.0 || place.w < 34.0 {
        return html! {};
    }
    html! {
        text aria-hidden="true" x=(round(place.x + 3.0)) y=(round(place.y + 11.5)) { (fitting(name, place.w - 6.0)) }
    }
}

/// As much of a text as fits into a width, at the size of the captions.
fn fitting(text: &str, width: f64) -> String {
    let most = (width / 6.1).max(0.0) as usize;
    let text = plain(text, 200);
    if text.chars().count() <= most {
        return text;
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept + "…"
}

/// A coordinate with one decimal.
fn round(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Rectangles of these sizes, as near to squares as rows allow (Bruls, Huizing and van Wijk). They fill `whole`.
fn squarified(sizes: &[f64], whole: Rect) -> Vec<Rect> {
    let total: f64 = sizes.iter().sum();
    if total <= 0.0 || whole.w <= 0.0 || whole.h <= 0.0 {
        return vec![
            Rect {
                w: 0.0,
                h: 0.0,
                ..whole
            };
            sizes.len()
        ];
    }
    let scale = whole.w * whole.h / total;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|one, other| sizes[*other].total_cmp(&sizes[*one]).then(one.cmp(other)));
    let mut placed = vec![
        Rect {
            w: 0.0,
            h: 0.0,
            ..whole
        };
        sizes.len()
    ];
    let mut free = whole;
    let mut rest = order.as_slice();
    while !rest.is_empty() {
        let side = free.w.min(free.h);
        let (mut count, mut sum) = (1, sizes[rest[0]] * scale);
        let largest = sum;
        let worst = |sum: f64, least: f64| {
            let (side, sum) = (side * side, sum * sum);
            (side * largest / sum).max(sum / (side * least))
        };
        let mut least = sum;
        while let Some(next) = rest.get(count) {
            let next = sizes[*next] * scale;
            if worst(sum + next, next) > worst(sum, least) {
                break;
            }
            (count, sum, least) = (count + 1, sum + next, next);
        }
        let depth = if side > 0.0 { sum / side } else { 0.0 };
        let mut along = 0.0;
        for at in &rest[..count] {
            let length = if depth > 0.0 {
                sizes[*at] * scale / depth
            } else {
                0.0
            };
            placed[*at] = if free.w >= free.h {
                Rect {
                    x: free.x,
                    y: free.y + along,
                    w: depth,
                    h: length,
                }
            } else {
                Rect {
                    x: free.x + along,
                    y: free.y,
                    w: length,
                    h: depth,
                }
            };
            along += length;
        }
        if free.w >= free.h {
            free = Rect {
                x: free.x + depth,
                w: free.w - depth,
                ..free
            };
        } else {
            free = Rect {
                y: free.y + depth,
                h: free.h - depth,
                ..free
            };
        }
        rest = &rest[count..];
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_fill_the_whole_and_are_as_large_as_they_count() {
        let whole = Rect {
            x: 0.0,
            y: 0.0,
            w: 600.0,
            h: 400.0,
        };
        let sizes = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0];
        let placed = squarified(&sizes, whole);
        for (size, place) in sizes.iter().zip(&placed) {
            assert!(
                (place.w * place.h - size * 10_000.0).abs() < 1e-6,
                "{place:?}"
            );
            assert!(
                place.w / place.h < 4.0 && place.h / place.w < 4.0,
                "{place:?}"
            );
            assert!(place.x + place.w <= 600.0 + 1e-9 && place.y + place.h <= 400.0 + 1e-9);
        }
        // No two of them overlap.
        for (at, one) in placed.iter().enumerate() {
            for other in &placed[at + 1..] {
                let apart = one.x + one.w <= other.x + 1e-9
                    || other.x + other.w <= one.x + 1e-9
                    || one.y + one.h <= other.y + 1e-9
                    || other.y + other.h <= one.y + 1e-9;
                assert!(apart, "{one:?} {other:?}");
            }
        }
        assert_eq!(squarified(&[0.0, 0.0], whole).len(), 2);
        assert!(squarified(&[], whole).is_empty());
    }

    #[test]
    fn of_many_items_the_rest_is_one() {
        let items = (0..1_000).map(|at| Tile {
            name: format!("<b>{at}"),
            tokens: 10,
            href: None,
        });
        let areas = [Area {
            section: Section::Evidence,
            tokens: 10_000,
            items: items.collect(),
        }];
        let drawn = treemap(&areas).into_string();
        assert_eq!(drawn.matches("<rect class=\"item").count(), MOST_ITEMS + 1);
        assert!(
            drawn.contains("940 more items: 9,400 tokens") && !drawn.contains("<b>"),
            "{drawn}"
        );
    }

    #[test]
    fn a_bar_says_what_is_used_and_free() {
        let areas = [Area {
            section: Section::Task,
            tokens: 100,
            items: Vec::new(),
        }];
        let drawn = bar(&areas, 20, 480).into_string();
        assert!(
            drawn.contains("120 of 480 tokens used (25.0 %), 360 free"),
            "{drawn}"
        );
    }
}
