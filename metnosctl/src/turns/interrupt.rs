//! Ctrl-C at the terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;

use crate::error::CtlError;

/// Ctrl-C: during a turn the first one cancels the turn, everywhere else it ends the program.
#[derive(Debug)]
pub struct Interrupt {
    pressed: Arc<AtomicBool>,
    deadly: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes over Ctrl-C.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_over() -> Result<Self, CtlError> {
        let this = Self { pressed: Arc::new(AtomicBool::new(false)), deadly: Arc::new(AtomicBool::new(true)) };
        let failed = |error| CtlError::failed("Ctrl-C cannot be listened to", error, "");
        signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&this.deadly)).map_err(failed)?;
        signal_hook::flag::register(SIGINT, Arc::clone(&this.pressed)).map_err(failed)?;
        Ok(this)
    }

    /// From now on the next Ctrl-C only cancels.
    pub(crate) fn arm(&self) {
        self.pressed.store(false, Ordering::SeqCst);
        self.deadly.store(false, Ordering::SeqCst);
    }

    /// From now on Ctrl-C ends the program again.
    pub(crate) fn disarm(&self) {
        self.deadly.store(true, Ordering::SeqCst);
    }

    pub(crate) fn was_pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }
}
