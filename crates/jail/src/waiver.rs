//! The named switches that waive one where the kernel lacks it.
//! Outside test builds a waiver must never switch off a layer that the kernel has.

use std::collections::BTreeSet;

use crate::error::JailError;
use crate::layers::Layer;

/// The layers that the configuration waives. A waiver is a wish: it is honoured
/// only when the kernel lacks the layer (or in a test build, feature `attack`),
/// and shows in the report when it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waivers(BTreeSet<Layer>);

impl Waivers {
    /// Nothing waived: the normal case.
    #[must_use]
    pub fn none() -> Self {
        Waivers::default()
    }

    /// Reads the names from the configuration.
    ///
    /// # Errors
    /// [`JailError::UnknownWaiver`] for a name that is no layer: a misspelt waiver must not look like one.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Result<Self, JailError> {
        names
            .iter()
            .map(|name| {
                Layer::ALL
                    .into_iter()
                    .find(|layer| layer.name() == name.as_ref())
                    .ok_or_else(|| JailError::UnknownWaiver(name.as_ref().to_owned()))
            })
            .collect::<Result<_, _>>()
            .map(Waivers)
    }

    /// Whether the configuration names this layer.
    #[must_use]
    pub fn names(&self, layer: Layer) -> bool {
        self.0.contains(&layer)
    }

    /// Decides about one layer: `Ok(true)` apply it, `Ok(false)` it is waived.
    /// `lacking` is the kernel's reason why it cannot, if it cannot.
    ///
    /// # Errors
    /// [`JailError::Lacking`] when the kernel cannot and nobody waived it.
    pub(crate) fn applies(&self, layer: Layer, lacking: Option<String>) -> Result<bool, JailError> {
        self.decide(layer, lacking, cfg!(feature = "attack"))
    }

    fn decide(&self, layer: Layer, lacking: Option<String>, test_build: bool) -> Result<bool, JailError> {
        match (lacking, self.names(layer)) {
            (None, false) => Ok(true),
            (None, true) => Ok(!test_build),
            (Some(_), true) => Ok(false),
            (Some(why), false) => Err(JailError::Lacking { layer, why }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_waiver_is_ignored_where_the_kernel_has_the_layer() {
        let waivers = Waivers::from_names(&["landlock"]).unwrap();
        assert!(waivers.decide(Layer::Landlock, None, false).unwrap());
    }

    #[test]
    fn a_waiver_is_honoured_where_the_kernel_lacks_the_layer() {
        let waivers = Waivers::from_names(&["landlock"]).unwrap();
        let lacking = Some("ENOSYS".to_owned());
        assert!(!waivers.decide(Layer::Landlock, lacking, false).unwrap());
    }

    #[test]
    fn missing_layer_without_waiver_stops_the_start() {
        let waivers = Waivers::from_names(&["seccomp"]).unwrap();
        let lacking = Some("ENOSYS".to_owned());
        assert!(matches!(
            waivers.decide(Layer::Landlock, lacking, true),
            Err(JailError::Lacking { layer: Layer::Landlock, .. })
        ));
    }

    #[test]
    fn a_test_build_honours_a_waiver_anywhere() {
        let waivers = Waivers::from_names(&["seccomp"]).unwrap();
        assert!(!waivers.decide(Layer::Seccomp, None, true).unwrap());
        assert!(waivers.decide(Layer::Landlock, None, true).unwrap());
    }

    #[test]
    fn a_misspelt_waiver_is_an_error() {
        assert!(matches!(
            Waivers::from_names(&["landlok"]),
            Err(JailError::UnknownWaiver(name)) if name == "landlok"
        ));
    }

    #[test]
    fn every_layer_is_found_by_its_own_name() {
        for layer in Layer::ALL {
            assert!(Waivers::from_names(&[layer.name()]).unwrap().names(layer));
        }
    }
}
