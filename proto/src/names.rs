//! Closed vocabularies: enums whose variants are each one word of a text, in manifests, documents and the chronicle.

/// Declares a closed vocabulary: an enum whose variants are each written as one word. A word that is not listed is an error
/// wherever it stands.
#[macro_export]
macro_rules! names {
    ($(#[$about:meta])* pub enum $Name:ident { $($(#[$each:meta])* $Variant:ident = $text:literal,)+ }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        $(#[$about])*
        pub enum $Name {
            $($(#[$each])* #[serde(rename = $text)] $Variant,)+
        }

        impl $Name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Variant,)+];

            /// How it is written.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $text,)+ }
            }

            /// The one that is written so.
            #[must_use]
            pub fn named(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == text)
            }
        }

        impl ::std::fmt::Display for $Name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $Name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                Self::named(text).ok_or(())
            }
        }
    };
}
