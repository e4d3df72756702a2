//! What each part of a turn's score weighs, and the bounds that both halves of the scoring share.

/// The weights of the parts, and the constants of BM25.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// BM25: how soon more of the same word tells nothing new.
    pub k1: f64,
    /// BM25: how much the length of a turn or session counts.
    pub b: f64,
    /// What two words that follow one another as in the question add.
    pub pairs: f64,
    /// By how much the score of an own answer is multiplied, unless the question asks for one.
    pub own: f64,
    /// The session's own score.
    pub session: f64,
    /// The turn before, after, two before, two after.
    pub neighbours: [f64; 4],
    /// Its speaker is named.
    pub speaker: f64,
    /// Its date is named.
    pub date: f64,
    /// It tells a time and one is asked for.
    pub time: f64,
    /// It tells a number and one is asked for.
    pub number: f64,
    /// A member or synonym of a word of the question, beside the word itself.
    pub related: f64,
    /// A word that says little, beside one that does not.
    pub light: f64,
    /// The least that its neighbours must give a turn that shares no word.
    pub open: f64,
    /// What each better turn of the same session costs.
    pub crowd: f64,
    /// What a turn that was shown in every turn is worth more than one that never was.
    pub salience: f64,
}

/// See [`Weights`].
pub const WEIGHTS: Weights = Weights {
    k1: 1.0,
    b: 0.6,
    pairs: 0.3,
    own: 0.87,
    session: 0.6,
    neighbours: [0.35, 0.17, 0.25, 0.15],
    speaker: 0.6,
    date: 0.8,
    time: 0.2,
    number: 0.1,
    related: 0.4,
    light: 0.7,
    open: 0.25,
    crowd: 0.1,
    salience: 0.1,
};

/// The most words of a question that are looked up.
pub const MAX_CONCEPTS: usize = 24;
