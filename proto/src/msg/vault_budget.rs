//! What the owner says about secrets and budgets at his machine. A value of a secret never stands in a word: it comes
//! sealed beside it, and nothing that goes back holds one.

use crate::words;

words! {
    /// The owner looks after the vault. A document comes beside the answer, as JSON.
    pub enum VaultAsk {
        /// Which secrets there are, and which executors may be given them.
        List,
        /// This one is gone, for good.
        Remove(String),
        /// This executor may be given it, as it is now and in no other version.
        Grant(SecretFor),
        /// This executor is not given it any more.
        Withdraw(SecretFor),
    }

    /// A secret and who may be given it.
    pub struct SecretFor {
        /// The secret's name.
        pub secret: String,
        /// The executor's name.
        pub executor: String,
    }

    /// A secret's value comes beside it. A document comes beside the answer, as JSON.
    pub struct VaultPut {
        /// The secret's name.
        pub name: String,
        /// It is there, and gets another value; else it is new.
        pub rotate: bool,
    }

    /// The owner looks at budgets, or changes a limit for a while. A document comes beside the answer, as JSON.
    pub enum BudgetAsk {
        /// What this principal has used; empty for everybody.
        Show(String),
        /// Another limit, for a while.
        Raise(RaiseBudget),
        /// The limit is what the configuration says again.
        Restore(BudgetOf),
    }

    /// See [`BudgetAsk::Raise`].
    pub struct RaiseBudget {
        /// Whose, and which.
        pub of: BudgetOf,
        /// The new limit; money in millionths.
        pub limit: u64,
        /// For so many seconds.
        pub seconds: u32,
    }

    /// One budget of one principal.
    pub struct BudgetOf {
        /// `channel:sender`, `owner`, or `house` for the whole instance.
        pub principal: String,
        /// Its name, such as `calls.day`.
        pub budget: String,
    }
}
