//! Enums that are written as words.

/// Gives an enum its words: `ALL`, `term`, and a `FromStr` whose error names the nearest known word.
#[doc(hidden)]
#[macro_export]
macro_rules! terms {
    ($name:ident ($noun:literal) { $($variant:ident = $term:literal,)+ }) => {
        impl $name {
            /// Every term, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The term as it is written.
            pub const fn term(self) -> &'static str {
                match self { $($name::$variant => $term,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<$name, $crate::Error> {
                let terms = $name::ALL.iter().map(|known| known.term());
                let found = $name::ALL.iter().copied().find(|known| known.term() == text);
                found.ok_or_else(|| $crate::error::unknown_name($noun, text, terms))
            }
        }
    };
}
