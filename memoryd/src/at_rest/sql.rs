//! SQL functions for encrypted columns: `sealed(principal, text)` returns the stored bytes, and `opened(principal, bytes)` the text.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::Keys;

impl Keys {
    /// Registers both functions on a connection.
    ///
    /// # Errors
    /// When the database says no.
    pub fn serve(&self, db: &Connection) -> rusqlite::Result<()> {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        let keys = self.clone();
        db.create_scalar_function("sealed", 2, flags, move |call: &Context<'_>| {
            keys.seal_text(call.get_raw(0).as_str()?, call.get_raw(1).as_str()?).map_err(failed)
        })?;
        let keys = self.clone();
        db.create_scalar_function("opened", 2, flags, move |call: &Context<'_>| {
            keys.open_text(call.get_raw(0).as_str()?, call.get_raw(1).as_blob()?).map_err(failed)
        })
    }
}

fn failed(error: crate::error::Error) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(error.into())
}
