//! Stems: English after Porter (1980), Italian by the endings of its nouns, adjectives and verbs. Pure.
//!
//! A stem is no word; it only has to be the same for the forms of one word. A word with
//! anything but small ASCII letters in it is its own stem.

/// Words shorter than this are their own stems.
const MIN_LETTERS: usize = 3;

/// The stem of an English word in small letters.
#[must_use]
pub fn english(word: &str) -> String {
    if word.len() < MIN_LETTERS || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = Porter { word: word.as_bytes().to_vec() };
    stem.plurals();
    stem.past_and_gerund();
    stem.terminal_y();
    stem.replace_longest(&DOUBLE_SUFFIXES, 0);
    stem.replace_longest(&SINGLE_SUFFIXES, 0);
    stem.drop_suffix();
    stem.tidy();
    // Only ASCII letters were ever in it.
    String::from_utf8(stem.word).unwrap_or_else(|_| word.to_owned())
}

/// Step 2.
const DOUBLE_SUFFIXES: [(&str, &str); 20] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];
/// Step 3.
const SINGLE_SUFFIXES: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];
/// Step 4; `ion` only after `s` or `t`.
const DROPPED_SUFFIXES: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
];

struct Porter {
    word: Vec<u8>,
}

impl Porter {
    fn is_consonant(&self, at: usize) -> bool {
        match self.word[at] {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => at == 0 || !self.is_consonant(at - 1),
            _ => true,
        }
    }

    /// How many times a vowel is followed by a consonant in the first `length` letters.
    fn measure(&self, length: usize) -> usize {
        let mut count = 0;
        let mut after_vowel = false;
        for at in 0..length {
            let consonant = self.is_consonant(at);
            count += usize::from(consonant && after_vowel);
            after_vowel = !consonant;
        }
        count
    }

    fn has_vowel(&self, length: usize) -> bool {
        (0..length).any(|at| !self.is_consonant(at))
    }

    fn ends_double(&self) -> bool {
        let length = self.word.len();
        length >= 2 && self.word[length - 1] == self.word[length - 2] && self.is_consonant(length - 1)
    }

    /// Consonant, vowel, consonant at the end of the first `length` letters, the last not w, x or y.
    fn ends_short(&self, length: usize) -> bool {
        length >= 3
            && self.is_consonant(length - 3)
            && !self.is_consonant(length - 2)
            && self.is_consonant(length - 1)
            && !matches!(self.word[length - 1], b'w' | b'x' | b'y')
    }

    /// How many letters stand before this ending.
    fn before(&self, suffix: &str) -> Option<usize> {
        self.word.ends_with(suffix.as_bytes()).then(|| self.word.len() - suffix.len())
    }

    fn set_end(&mut self, length: usize, end: &str) {
        self.word.truncate(length);
        self.word.extend_from_slice(end.as_bytes());
    }

    fn plurals(&mut self) {
        for (suffix, end) in [("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")] {
            if let Some(length) = self.before(suffix) {
                self.set_end(length, end);
                return;
            }
        }
    }

    fn past_and_gerund(&mut self) {
        if let Some(length) = self.before("eed") {
            if self.measure(length) > 0 {
                self.set_end(length, "ee");
            }
            return;
        }
        let found = ["ed", "ing"].into_iter().find_map(|suffix| self.before(suffix));
        let Some(length) = found.filter(|length| self.has_vowel(*length)) else { return };
        self.set_end(length, "");
        if ["at", "bl", "iz"].iter().any(|end| self.before(end).is_some()) {
            self.word.push(b'e');
        } else if self.ends_double() && !matches!(self.word.last(), Some(b'l' | b's' | b'z')) {
            self.word.pop();
        } else if self.measure(self.word.len()) == 1 && self.ends_short(self.word.len()) {
            self.word.push(b'e');
        }
    }

    fn terminal_y(&mut self) {
        if let Some(length) = self.before("y")
            && self.has_vowel(length)
        {
            self.set_end(length, "i");
        }
    }

    /// Replaces the longest of these endings whose stem has more than `least` measures.
    fn replace_longest(&mut self, suffixes: &[(&str, &str)], least: usize) {
        let found = suffixes
            .iter()
            .filter_map(|(suffix, end)| self.before(suffix).map(|length| (length, end)))
            .min_by_key(|(length, _)| *length);
        if let Some((length, end)) = found
            && self.measure(length) > least
        {
            self.set_end(length, end);
        }
    }

    fn drop_suffix(&mut self) {
        let found = DROPPED_SUFFIXES
            .iter()
            .filter_map(|suffix| self.before(suffix).map(|length| (length, *suffix)))
            .min_by_key(|(length, _)| *length);
        if let Some((length, suffix)) = found
            && self.measure(length) > 1
            && (suffix != "ion" || matches!(self.word[..length].last(), Some(b's' | b't')))
        {
            self.set_end(length, "");
        }
    }

    fn tidy(&mut self) {
        if let Some(length) = self.before("e") {
            let measure = self.measure(length);
            if measure > 1 || (measure == 1 && !self.ends_short(length)) {
                self.set_end(length, "");
            }
        }
        if self.ends_double() && self.word.last() == Some(&b'l') && self.measure(self.word.len()) > 1 {
            self.word.pop();
        }
    }
}

/// Endings of Italian verbs and derived nouns, longest first; what is left must have [`MIN_ITALIAN_STEM`] letters.
const ITALIAN_ENDINGS: [&str; 52] = [
    "eremmo", "eranno", "iranno", "issero", "azione", "azioni", "amento", "amenti", "avamo", "evamo", "ivamo", "avano",
    "evano", "ivano", "ranno", "arono", "erono", "irono", "mente", "ando", "endo", "iamo", "ammo", "emmo", "immo",
    "asti", "esti", "ista", "isti", "oso", "osa", "ato", "ata", "ati", "ate", "uto", "uta", "uti", "ute", "ito", "ita",
    "iti", "are", "ere", "ire", "ava", "avo", "eva", "evo", "iva", "ivo", "ano",
];
/// The fewest letters that may be left of an Italian verb.
const MIN_ITALIAN_STEM: usize = 3;

/// The stem of an Italian word in small letters without accents.
#[must_use]
pub fn italian(word: &str) -> String {
    if word.len() <= MIN_LETTERS || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let ending = ITALIAN_ENDINGS.iter().find_map(|ending| word.strip_suffix(ending));
    let mut stem = match ending.filter(|stem| stem.len() >= MIN_ITALIAN_STEM) {
        Some(stem) => stem,
        None => word.strip_suffix(['a', 'e', 'i', 'o']).unwrap_or(word),
    };
    // The i and h that only keep a sound: mangi-o, gioch-i.
    while stem.len() > MIN_ITALIAN_STEM
        && let Some(shorter) = stem.strip_suffix(['i', 'h'])
    {
        stem = shorter;
    }
    stem.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_stems_are_those_of_the_paper() {
        for (word, stem) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("vietnamization", "vietnam"),
            ("operator", "oper"),
            ("hopefulness", "hope"),
            ("triplicate", "triplic"),
            ("electrical", "electr"),
            ("goodness", "good"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("homologou", "homolog"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controll", "control"),
            ("roll", "roll"),
        ] {
            assert_eq!(english(word), stem, "{word}");
        }
    }

    #[test]
    fn non_english_word_is_not_stemmed() {
        for word in ["", "a", "is", "2023", "caffè", "r2d2"] {
            assert_eq!(english(word), word);
        }
    }

    #[test]
    fn italian_forms_meet() {
        for (one, two) in [
            ("casa", "case"),
            ("bambino", "bambine"),
            ("mangio", "mangiare"),
            ("mangiato", "mangiare"),
            ("viaggio", "viaggi"),
            ("amica", "amiche"),
            ("lavorato", "lavoro"),
            ("dipinto", "dipinti"),
        ] {
            assert_eq!(italian(one), italian(two), "{one} {two}");
        }
        assert_eq!(italian("tre"), "tre");
    }
}
