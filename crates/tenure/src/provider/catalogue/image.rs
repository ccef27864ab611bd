//! The cost of images in tokens: a closed set of formulas, whose numbers are data.

use serde::{Deserialize, Serialize};

/// The formula by which a model counts an image.
///
/// Above the size at which a provider shrinks images, its own count may be lower than ours, never
/// higher: how exactly it shrinks is not documented well enough to be relied on.
///
/// ```
/// use tenure::Catalogue;
/// let catalogue = Catalogue::builtin()?;
/// let image = catalogue.model("claude-opus-5-5")?.image.as_ref().unwrap();
/// assert_eq!(image.tokens(1024, 1024), 37 * 37);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "formula", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Image {
    /// Square patches, each a token or a percentage of one.
    Patches {
        /// The side of a patch in pixels.
        patch: u32,
        /// The most patches that an image is given. A larger image is shrunk, and counts as this
        /// many at most.
        max_patches: Option<u32>,
        /// The long edge above which an image is shrunk. The count does not rely on it.
        max_long_edge: Option<u32>,
        /// The tokens of 100 patches.
        #[serde(default = "hundred")]
        multiplier_percent: u32,
    },
    /// Square tiles of the image, which is first shrunk into a square and then to a short side.
    Tiles {
        /// The tokens of every image.
        base: u32,
        /// The tokens of each tile.
        per_tile: u32,
        /// The side of a tile in pixels.
        tile: u32,
        /// The side of the square that the image is shrunk to fit in.
        fit: u32,
        /// The pixels to which the short side is shrunk.
        short_side: u32,
    },
    /// One price for every image.
    Flat {
        /// The tokens of an image.
        tokens: u32,
    },
}

fn hundred() -> u32 {
    100
}

impl Image {
    /// Returns the tokens of an image of this size in pixels: the provider's count where it shrinks nothing, an upper
    /// estimate where it does.
    pub fn tokens(&self, width: u32, height: u32) -> u32 {
        let tokens = match *self {
            Image::Patches {
                patch,
                max_patches,
                multiplier_percent,
                ..
            } => {
                let side = |pixels: u32| u128::from(pixels.div_ceil(patch.max(1)));
                let patches = side(width) * side(height);
                let most = max_patches.map_or(u128::MAX, u128::from);
                (patches.min(most) * u128::from(multiplier_percent)).div_ceil(100)
            }
            Image::Tiles {
                base,
                per_tile,
                tile,
                fit,
                short_side,
            } => {
                let (long, short) = (width.max(height), width.min(height));
                // Both shrinkings together are the smaller of the two scales: a fraction, exactly.
                let (mut part, mut whole) = (1, 1);
                for (limit, edge) in [(fit, long), (short_side, short)] {
                    if u64::from(limit) * u64::from(whole) < u64::from(edge) * u64::from(part) {
                        (part, whole) = (limit, edge);
                    }
                }
                let tiles = |pixels: u32| {
                    let shrunk = u128::from(pixels) * u128::from(part);
                    shrunk.div_ceil(u128::from(whole) * u128::from(tile.max(1)))
                };
                u128::from(base) + u128::from(per_tile).saturating_mul(tiles(width) * tiles(height))
            }
            Image::Flat { tokens } => u128::from(tokens),
        };
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATCHES_28: Image = Image::Patches {
        patch: 28,
        max_patches: Some(4_784),
        max_long_edge: Some(2_576),
        multiplier_percent: 100,
    };

    const TILES: Image = Image::Tiles {
        base: 85,
        per_tile: 170,
        tile: 512,
        fit: 2_048,
        short_side: 768,
    };

    #[test]
    fn patches_are_what_was_measured() {
        for (width, height, tokens) in [
            (1_024, 1_024, 1_369),
            (1_280, 720, 1_196),
            (1_920, 1_080, 2_691),
            (28, 28, 1),
            (29, 28, 2),
            (0, 500, 0),
            (10_000, 10_000, 4_784),
            (u32::MAX, u32::MAX, 4_784),
        ] {
            assert_eq!(
                PATCHES_28.tokens(width, height),
                tokens,
                "{width} x {height}"
            );
        }
        let with_multiplier = |multiplier_percent, max_patches| Image::Patches {
            patch: 32,
            max_patches,
            max_long_edge: None,
            multiplier_percent,
        };
        // 1,228.8 is measured as 1,229.
        assert_eq!(with_multiplier(120, None).tokens(1_024, 1_024), 1_229);
        assert_eq!(
            with_multiplier(162, Some(1_536)).tokens(4_000, 4_000),
            2_489
        );
        assert_eq!(
            with_multiplier(u32::MAX, None).tokens(u32::MAX, u32::MAX),
            u32::MAX
        );
    }

    #[test]
    fn tiles_are_what_the_provider_documents() {
        for (width, height, tokens) in [
            (1_024, 1_024, 765),
            (2_048, 4_096, 1_105),
            (4_096, 8_192, 1_105),
            (512, 512, 255),
            (1, 1, 255),
            (0, 0, 85),
            (100_000, 1, 85 + 4 * 170),
        ] {
            assert_eq!(TILES.tokens(width, height), tokens, "{width} x {height}");
        }
        assert_eq!(Image::Flat { tokens: 1_120 }.tokens(9, 9_000), 1_120);
    }

    proptest! {
        #[test]
        fn no_size_and_no_number_panics(
            width: u32, height: u32, numbers: [u32; 5], cap: Option<u32>,
        ) {
            let [a, b, c, d, e] = numbers;
            let _ = Image::Tiles { base: a, per_tile: b, tile: c, fit: d, short_side: e }
                .tokens(width, height);
            let _ = Image::Patches {
                patch: a, max_patches: cap, max_long_edge: None, multiplier_percent: b,
            }
            .tokens(width, height);
        }

        #[test]
        fn more_pixels_never_cost_fewer_patches(width in 0u32..9_000, height in 0u32..9_000, more in 0u32..900) {
            prop_assert!(PATCHES_28.tokens(width, height) <= PATCHES_28.tokens(width + more, height));
            prop_assert_eq!(PATCHES_28.tokens(width, height), PATCHES_28.tokens(height, width));
            prop_assert_eq!(TILES.tokens(width, height), TILES.tokens(height, width));
            // Nothing is above what fits into the square with that short side.
            prop_assert!(TILES.tokens(width, height) <= 85 + 170 * 8);
        }
    }
}
