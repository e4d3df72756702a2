//! What the keys of models' servers are called: each is a secret that [`metnos_outbound::secret_file`] keeps, here and nowhere else.

/// mind's own folder in the instance.
pub const FOLDER: &str = ".mind";

/// The name of a substrate's key, as a file and as a credential.
#[must_use]
pub fn name_of(substrate: &str) -> String {
    format!("model.{substrate}")
}
