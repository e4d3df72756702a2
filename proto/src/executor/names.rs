//! The closed vocabularies of a manifest: classes of effects and roles of arguments (design:
//! policy §7).

use crate::names;

names! {
    /// What an executor does to the world.
    #[derive(Default)]
    pub enum Class {
        /// Looks at what is here.
        Read = "read",
        /// Looks at what is on the net.
        NetRead = "net_read",
        /// Makes something new of the owner's own.
        SelfCreate = "self_create",
        /// Changes something of the owner's own.
        SelfModify = "self_modify",
        /// Removes something.
        Destroy = "destroy",
        /// Sends a message to a person.
        #[default]
        Send = "send",
        /// Gives a person access to something.
        Share = "share",
        /// Gives everybody access to something.
        Publish = "publish",
        /// Changes who may do what.
        Acl = "acl",
        /// Moves money.
        Money = "money",
        /// Changes an account.
        Account = "account",
        /// Books something.
        Book = "book",
        /// Runs a command.
        Shell = "shell",
        /// Makes something happen later.
        Schedule = "schedule",
        /// Confirms something with a code.
        Confirm = "confirm",
    }
}

names! {
    /// What an argument is to the call.
    #[derive(Default)]
    pub enum Role {
        /// Where something goes.
        Dest = "dest",
        /// What is passed on.
        #[default]
        Payload = "payload",
        /// Which things are meant.
        Selector = "selector",
        /// How much.
        Amount = "amount",
        /// When.
        Time = "time",
        /// A secret.
        Secret = "secret",
        /// A person or a thing.
        Entity = "entity",
        /// A web address.
        Url = "url",
        /// A path in the file system.
        Path = "path",
        /// What is searched for.
        Query = "query",
        /// A command's arguments.
        Argv = "argv",
        /// A switch.
        Flag = "flag",
    }
}
