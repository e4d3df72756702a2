//! What an edge of the matrix is to the compiler: who may ask, who answers, in which words.
//!
//! The macro [`edges!`](crate::edges!) turns one line of the matrix into its types. Everything
//! that must not compile is refused here: an edge that leads downhill, a word on the wrong
//! edge, an end in the wrong hands, a second copy of an end.

use postcard_schema::Schema;
use postcard_schema::schema::owned::OwnedNamedType;

use crate::payload::Sealed;
use crate::role::{Role, RoleName};
pub use crate::wire::ends::{AnswererEnd, AskerEnd, Edge, Order, PeerCred, RawEnd, RpcError, Side, WrongEnd, pair};
pub use crate::word::{ServeError, Word};

/// The schema key of an edge, made by the compiler: over its line in the matrix and the encoding of its three
/// enums, with the names of all fields and variants. It guards against two builds misunderstanding each other,
/// not against an enemy, who can simply send it.
#[must_use]
pub const fn key<Ask: Schema, Answer: Schema, Note: Schema>(line: &str) -> [u8; 8] {
    use postcard_schema::key::Key;
    let ask = u64::from_le_bytes(Key::for_path::<Ask>(line).to_bytes());
    let answer = u64::from_le_bytes(Key::for_path::<Answer>(line).to_bytes());
    let note = u64::from_le_bytes(Key::for_path::<Note>(line).to_bytes());
    (ask ^ answer.rotate_left(21) ^ note.rotate_left(42)).to_le_bytes()
}

/// What a service makes of an ask: an answer with its descriptors, or a refusal.
pub type Served<A, const N: usize> = Result<(A, [Sealed; N]), ServeError>;

/// Evaluated by the compiler for every edge, so that no cycle of waiting can be built.
///
/// # Panics
/// At compile time, when the asker's rank is not below the answerer's.
pub const fn uphill<Asker: Role, Answerer: Role>() {
    assert!(Asker::RANK < Answerer::RANK, "an edge must lead uphill: the asker's rank must be below the answerer's");
}

/// Something to do with every edge of the matrix: see `edges::visit_all`.
pub trait Visit {
    /// Called once an edge.
    fn visit<E: Edge>(&mut self);
}

/// Turns an answer's descriptors into the array that its word declares. The link has counted them.
///
/// # Errors
/// [`RpcError::Violation`] when the count is wrong after all.
pub fn exactly<const N: usize>(role: RoleName, fds: Vec<Sealed>) -> Result<[Sealed; N], RpcError> {
    fds.try_into()
        .map_err(|fds: Vec<Sealed>| RpcError::Violation(role, format!("{} descriptors instead of {N}", fds.len())))
}

/// The wire form of a type, for the golden file: its own and every type below it, sorted.
#[must_use]
pub fn describe<T: Schema>() -> String {
    let root = OwnedNamedType::from(T::SCHEMA);
    let mut lines: Vec<String> = root.all_used_types().iter().map(OwnedNamedType::to_pseudocode).collect();
    lines.push(root.to_pseudocode());
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

/// Declares edges. See `edges.rs` for the only use.
///
/// Each edge names its phase machine, a type of [`crate::phase`], or says `phase none("the reason")`. The rules that
/// begin with `@` are what that means at one place of the generated code.
#[macro_export]
macro_rules! edges {
    // What the edge says of its order.
    (@order none $reason:literal) => { $crate::edge::Order::Free($reason) };
    (@order none) => { compile_error!("`phase none` says why: phase none(\"the reason\")") };
    (@order $machine:ident) => {
        $crate::edge::Order::Machine(
            stringify!($machine),
            <$crate::phase::$machine as $crate::phase::Machine>::RULE,
        )
    };
    (@order $machine:ident $reason:literal) => { compile_error!("an edge has a machine or a reason, not both") };

    // What a service of the edge must know, on tokio and in a poll loop.
    (@knows $edge:ident none $($reason:literal)?) => {};
    (@knows $edge:ident $machine:ident $($reason:literal)?) => {
        /// The phase that the subject of this ask is in. Called before the handler of any ask.
        ///
        /// # Errors
        /// The refusal, when the subject is not known here; or the violation, when it is not this link's.
        fn phase_of(
            &self,
            cx: &Cx<$edge>,
            subject: <$crate::phase::$machine as $crate::phase::Machine>::Subject,
            ask: &Ask,
        ) -> Result<$crate::phase::$machine, ServeError>;

        /// The ask was admitted: its subject goes on in this phase, or ends with it.
        fn enter(
            &self,
            cx: &Cx<$edge>,
            subject: <$crate::phase::$machine as $crate::phase::Machine>::Subject,
            next: Option<$crate::phase::$machine>,
        );
    };
    (@knows_blocking $edge:ident none $($reason:literal)?) => {};
    (@knows_blocking $edge:ident $machine:ident $($reason:literal)?) => {
        /// The phase that the subject of this ask is in. Called before the handler of any ask.
        ///
        /// # Errors
        /// The refusal, when the subject is not known here; or the violation, when it is not this link's.
        fn phase_of(
            &mut self,
            link: &BlockingServer<$edge>,
            subject: <$crate::phase::$machine as $crate::phase::Machine>::Subject,
            ask: &Ask,
        ) -> Result<$crate::phase::$machine, ServeError>;

        /// The ask was admitted: its subject goes on in this phase, or ends with it.
        fn enter(
            &mut self,
            link: &BlockingServer<$edge>,
            subject: <$crate::phase::$machine as $crate::phase::Machine>::Subject,
            next: Option<$crate::phase::$machine>,
        );
    };

    // Whether an ask is admitted; `$from` is the context or the link that it came over.
    (@admit $service:ident $from:ident $ask:ident none $($reason:literal)?) => {{
        let _ = ($service, $from, $ask);
        Ok(())
    }};
    (@admit $service:ident $from:ident $ask:ident $machine:ident $($reason:literal)?) => {{
        use $crate::phase::Machine as _;
        let subject = $crate::phase::$machine::subject($ask);
        let next = $service.phase_of($from, subject, $ask)?.admit($ask)?;
        $service.enter($from, subject, next);
        Ok(())
    }};

    ($(
        $(#[$doc:meta])*
        $edge:ident in $module:ident = $id:literal: $asker:ident => $answerer:ident, phase $phase:ident $(($reason:literal))? {
            $( ask $method:ident($ask:ident, $ask_fds:literal) -> ($answer:ty, $answer_fds:literal) within $ms:literal; )+
            $( note $note:ident; )*
        }
    )*) => {
        /// Every edge, as a value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize, ::postcard_schema::Schema)]
        pub enum EdgeId {
            $($(#[$doc])* $edge,)*
        }

        impl EdgeId {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$edge,)*];

            /// The number in a packet's header.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self { $(Self::$edge => $id,)* }
            }

            /// Who asks.
            #[must_use]
            pub const fn asker(self) -> $crate::role::RoleName {
                match self { $(Self::$edge => $crate::role::RoleName::$asker,)* }
            }

            /// Who answers.
            #[must_use]
            pub const fn answerer(self) -> $crate::role::RoleName {
                match self { $(Self::$edge => $crate::role::RoleName::$answerer,)* }
            }

            /// Whether any word of it brings descriptors.
            #[must_use]
            pub const fn carries_fds(self) -> bool {
                match self { $(Self::$edge => 0 $(+ $ask_fds + $answer_fds)+ > 0,)* }
            }

            /// What keeps its words in order.
            #[must_use]
            pub const fn order(self) -> $crate::edge::Order {
                match self { $(Self::$edge => <$edge as $crate::edge::Edge>::ORDER,)* }
            }

            /// The edge in words: see [`Edge::description`](crate::edge::Edge::description).
            #[must_use]
            pub fn description(self) -> String {
                match self { $(Self::$edge => <$edge as $crate::edge::Edge>::description(),)* }
            }
        }

        /// Visits every edge of the matrix, in order: for tests and documents that must miss none.
        pub fn visit_all(visitor: &mut impl $crate::edge::Visit) {
            $(visitor.visit::<$edge>();)*
        }

        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $edge {}

            const _: () = $crate::edge::uphill::<$crate::role::$asker, $crate::role::$answerer>();

            impl $crate::edge::Edge for $edge {
                const ID: EdgeId = EdgeId::$edge;
                type Asker = $crate::role::$asker;
                type Answerer = $crate::role::$answerer;
                type Ask = $module::Ask;
                type Answer = $module::Answer;
                type Note = $module::Note;
                const SCHEMA_KEY: [u8; 8] = $crate::edge::key::<$module::Ask, $module::Answer, $module::Note>(concat!(
                    $id, stringify!($edge), stringify!($asker), stringify!($answerer),
                    $(stringify!($method), stringify!($ask), $ask_fds, stringify!($answer), $answer_fds, $ms,)+
                ));

                const ORDER: $crate::edge::Order = $crate::edges!(@order $phase $($reason)?);

                fn within(ask: &Self::Ask) -> ::std::time::Duration {
                    ::std::time::Duration::from_millis(match ask { $($module::Ask::$ask(_) => $ms,)+ })
                }

                fn refused(refusal: $crate::msg::common::Refusal) -> Self::Answer {
                    $module::Answer::Refused(refusal)
                }

                fn description() -> String {
                    let mut text = format!(
                        "edge {} {} {} => {}\n", $id, stringify!($edge),
                        stringify!($asker), stringify!($answerer),
                    );
                    text.push_str(&format!("  {}\n", Self::ORDER));
                    $(text.push_str(&format!(
                        "  {}({}, {} fds) -> ({}, {} fds) within {} ms\n",
                        stringify!($method), stringify!($ask), $ask_fds, stringify!($answer), $answer_fds, $ms,
                    ));)+
                    text.push_str("  asks\n");
                    text.push_str(&$crate::edge::describe::<$module::Ask>());
                    text.push_str("  answers\n");
                    text.push_str(&$crate::edge::describe::<$module::Answer>());
                    text.push_str("  notes\n");
                    text.push_str(&$crate::edge::describe::<$module::Note>());
                    text
                }
            }

            $(#[$doc])*
            pub mod $module {
                use std::future::Future;
                use std::rc::Rc;

                use super::vocabulary::*;
                use super::$edge;
                use $crate::edge::{AnswererEnd, RpcError, Edge, ServeError, Served, Word, exactly};
                use $crate::ids::TraceId;
                use $crate::link::{BlockingClient, BlockingServer, Incoming, Outgoing};
                use $crate::link_async::{Client, Closed, Cx};
                use $crate::payload::Sealed;

                /// The questions of this edge.
                #[derive(Debug, Clone, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::postcard_schema::Schema)]
                pub enum Ask { $(#[doc = concat!("See [`", stringify!($ask), "`].")] $ask($ask),)+ }

                /// The answers of this edge: one per question, and the refusal.
                #[derive(Debug, Clone, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::postcard_schema::Schema)]
                #[allow(clippy::large_enum_variant, reason = "answers are short-lived and never stored")]
                pub enum Answer {
                    /// No, and why.
                    Refused(Refusal),
                    $(#[doc = concat!("To [`", stringify!($ask), "`].")] $ask($answer),)+
                }

                /// What the answerer may send unasked.
                #[derive(Debug, Clone, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::postcard_schema::Schema)]
                pub enum Note { $(#[doc = concat!("See [`", stringify!($note), "`].")] $note($note),)* }

                impl Word for Ask {
                    fn fds(&self) -> usize { match self { $(Self::$ask(_) => $ask_fds,)+ } }
                    fn name(&self) -> &'static str { match self { $(Self::$ask(_) => stringify!($method),)+ } }
                }

                impl Word for Answer {
                    fn fds(&self) -> usize { match self { Self::Refused(_) => 0, $(Self::$ask(_) => $answer_fds,)+ } }
                    fn name(&self) -> &'static str { match self { Self::Refused(_) => "refused", $(Self::$ask(_) => stringify!($method),)+ } }
                }

                impl Word for Note {
                    fn fds(&self) -> usize { 0 }
                    fn name(&self) -> &'static str { match *self { $(Self::$note(_) => stringify!($note),)* } }
                }

                impl Client<$edge> {
                    $(
                        #[doc = concat!("Asks for `", stringify!($answer), "`: see [`", stringify!($ask), "`].")]
                        ///
                        /// # Errors
                        /// The other side's refusal; or it is gone, late, or broke the protocol.
                        pub async fn $method(
                            &self, trace: TraceId, ask: $ask, fds: [Sealed; $ask_fds],
                        ) -> Result<($answer, [Sealed; $answer_fds]), RpcError> {
                            match self.ask(trace, Ask::$ask(ask), fds.into()).await? {
                                (Answer::$ask(answer), fds) => Ok((answer, exactly(<$edge as Edge>::ID.answerer(), fds)?)),
                                (Answer::Refused(refusal), _) => Err(RpcError::Refused(refusal)),
                                #[allow(unreachable_patterns, reason = "an edge with a single ask has no other answer")]
                                (other, _) => Err(self.wrong_answer(stringify!($method), &other)),
                            }
                        }
                    )+
                }

                impl BlockingClient<$edge> {
                    $(
                        #[doc = concat!("Asks for `", stringify!($answer), "`: see [`", stringify!($ask), "`].")]
                        ///
                        /// # Errors
                        /// The other side's refusal; or it is gone, late, or broke the protocol.
                        pub fn $method(
                            &mut self, trace: TraceId, ask: $ask, fds: [Sealed; $ask_fds],
                        ) -> Result<($answer, [Sealed; $answer_fds]), RpcError> {
                            match self.ask(trace, Ask::$ask(ask), fds.into())? {
                                (Answer::$ask(answer), fds) => Ok((answer, exactly(<$edge as Edge>::ID.answerer(), fds)?)),
                                (Answer::Refused(refusal), _) => Err(RpcError::Refused(refusal)),
                                #[allow(unreachable_patterns, reason = "an edge with a single ask has no other answer")]
                                (other, _) => Err(self.wrong_answer(stringify!($method), &other)),
                            }
                        }
                    )+
                }

                /// Answers this edge on a tokio runtime; asks of one link are served side by side.
                pub trait Serve: 'static {
                    $crate::edges!(@knows $edge $phase $($reason)?);

                    $(
                        #[doc = concat!("See [`", stringify!($ask), "`].")]
                        fn $method(
                            self: Rc<Self>, cx: Cx<$edge>, ask: $ask, fds: [Sealed; $ask_fds],
                        ) -> impl Future<Output = Served<$answer, $answer_fds>>;
                    )+
                }

                fn admit<S: Serve>(service: &S, cx: &Cx<$edge>, ask: &Ask) -> Result<(), ServeError> {
                    $crate::edges!(@admit service cx ask $phase $($reason)?)
                }

                /// Serves one link until its peer is gone or breaks the protocol. A handler sees only what was admitted.
                pub async fn serve<S: Serve>(end: AnswererEnd<$edge>, service: Rc<S>) -> Closed {
                    $crate::link_async::serve(end, move |cx: Cx<$edge>, ask: Ask, fds: Vec<Sealed>| {
                        let service = Rc::clone(&service);
                        async move {
                            admit(&*service, &cx, &ask)?;
                            match ask { $(
                                Ask::$ask(ask) => {
                                    let fds = fds.try_into().map_err(|_| ServeError::Violation("descriptors".to_owned()))?;
                                    let (answer, fds) = service.$method(cx, ask, fds).await?;
                                    Ok((Answer::$ask(answer), Vec::from(fds)))
                                }
                            )+ }
                        }
                    })
                    .await
                }

                /// Answers this edge from a plain poll loop, one ask after the other; the loop decides when the
                /// answers leave.
                pub trait ServeBlocking {
                    $crate::edges!(@knows_blocking $edge $phase $($reason)?);

                    $(
                        #[doc = concat!("See [`", stringify!($ask), "`].")]
                        ///
                        /// # Errors
                        /// The refusal, or the breach of protocol.
                        fn $method(&mut self, link: &BlockingServer<$edge>, trace: TraceId, ask: $ask, fds: [Sealed; $ask_fds]) -> Served<$answer, $answer_fds>;
                    )+
                }

                /// Whether an ask may be made now. [`dispatch`] asks it of each; a loop that answers an ask in its own
                /// time calls it first.
                ///
                /// # Errors
                /// The refusal or the violation.
                pub fn admit_blocking<S: ServeBlocking + ?Sized>(
                    link: &BlockingServer<$edge>, ask: &Ask, service: &mut S,
                ) -> Result<(), ServeError> {
                    $crate::edges!(@admit service link ask $phase $($reason)?)
                }

                /// Has one ask answered, if it is admitted; nothing is sent yet.
                ///
                /// # Errors
                /// A breach of protocol, after which the link must be closed.
                pub fn dispatch<S: ServeBlocking + ?Sized>(
                    link: &BlockingServer<$edge>, incoming: Incoming<$edge>, service: &mut S,
                ) -> Result<Outgoing<$edge>, ServeError> {
                    let Incoming { request, trace, ask, fds } = incoming;
                    let served: Result<(Answer, Vec<Sealed>), ServeError> = admit_blocking(link, &ask, service).and_then(|()| match ask { $(
                        Ask::$ask(ask) => {
                            let fds = fds.try_into().map_err(|_| ServeError::Violation("descriptors".to_owned()))?;
                            service.$method(link, trace, ask, fds).map(|(answer, fds)| (Answer::$ask(answer), Vec::from(fds)))
                        }
                    )+ });
                    match served {
                        Ok((answer, fds)) => Ok(Outgoing { request, trace, answer, fds }),
                        Err(ServeError::Refused(refusal)) => Ok(Outgoing { request, trace, answer: Answer::Refused(refusal), fds: Vec::new() }),
                        Err(violation @ ServeError::Violation(_)) => Err(violation),
                    }
                }
            }
        )*
    };
}
