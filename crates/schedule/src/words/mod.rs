//! Says a cadence and a moment in words for people, in English and Italian.
