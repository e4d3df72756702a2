//! The owner's word that stops everything.

use metnos_proto::msg::common::Refusal;

use crate::executors::switches::What;
use crate::people::principal::Principal;
use crate::policy::Policy;

impl Policy {
    /// Stops everything: nothing is allowed from here on, and what runs is ended. How many runs that were.
    ///
    /// # Errors
    /// When it was not written down, or sandboxd did not answer; it is stopped all the same.
    pub(crate) async fn stop_all(&self, principal: &Principal) -> Result<u32, Refusal> {
        let thrown = self.executors.throw(What::All, principal, "", None).await;
        self.thinking.stop_thinking();
        let killed = thrown?;
        self.base.event(
            "panic",
            &format!("{} has stopped everything; {killed} calls were ended", principal.name),
            None,
        );
        Ok(killed)
    }
}
