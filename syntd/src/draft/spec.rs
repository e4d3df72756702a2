//! What is wanted of an executor: its name, what goes in and out, and examples of both. It comes from the owner's examples,
//! or from a model that was asked for it. Whatever a model says, names and texts are made fit for a manifest here.

use metnos_proto::doc::draft::{DraftExample, DraftLang, DraftOrder};
use metnos_proto::executor::{MAX_NAME, MAX_SUMMARY, is_name};
use metnos_proto::msg::drafting::{MAX_DRAFT_EXAMPLES, MAX_WISH};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::draft::shape;
use crate::text::{cut, line};

/// The fewest examples that an executor is born with.
pub const MIN_EXAMPLES: usize = 3;
/// The most arguments, and the most values of a result.
pub const MAX_FIELDS: usize = 8;
/// The most examples that a model adds.
const MAX_ADDED: usize = 12;
/// The longest description of a field, in characters.
const MAX_ABOUT: usize = 120;
/// How many words of a wish make a name.
const WORDS_OF_A_NAME: usize = 4;

/// One argument, or one value of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its schema.
    pub schema: Value,
    /// What it is; may be empty.
    pub about: String,
    /// Whether it is always there.
    pub required: bool,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The executor's name.
    pub name: String,
    /// What it does, in a line.
    pub summary: String,
    /// What the owner said.
    pub wish: String,
    /// In which language.
    pub lang: DraftLang,
    /// The arguments.
    pub inputs: Vec<Field>,
    /// The values of a result.
    pub outputs: Vec<Field>,
    /// The owner's examples, and behind them those of the model.
    pub examples: Vec<DraftExample>,
    /// How many of them are the owner's.
    pub owners: usize,
}

/// An order, looked at: what is wrong with it is said before anything is asked of a model.
///
/// # Errors
/// The field, what it has, and what was expected.
pub fn check(order: &DraftOrder) -> Result<(), String> {
    let wish = order.wish.trim();
    if one_line(wish, MAX_WISH).is_empty() || wish.len() > MAX_WISH || wish.chars().any(char::is_control) {
        return Err(format!("the wish is one line of 1 to {MAX_WISH} bytes"));
    }
    if !order.name.is_empty() && !is_name(&order.name) {
        return Err(format!("`{}` is no name; expected are small letters, digits and `_`, a letter first", order.name));
    }
    if order.examples.len() > MAX_DRAFT_EXAMPLES {
        return Err(format!("{} examples; at most {MAX_DRAFT_EXAMPLES} are taken", order.examples.len()));
    }
    if !order.examples.is_empty() && order.examples.iter().all(|example| example.output.is_none()) {
        return Err("no example has a result; at least one must show what comes out".to_owned());
    }
    for (at, example) in order.examples.iter().enumerate() {
        let outputs = example.output.as_ref().map_or(1, Map::len);
        if example.input.is_empty() || example.input.len() > MAX_FIELDS || outputs == 0 || outputs > MAX_FIELDS {
            return Err(format!("example {} has 1 to {MAX_FIELDS} arguments and as many values", at + 1));
        }
        let names = example.input.keys().chain(example.output.iter().flat_map(Map::keys));
        if let Some(bad) = names.into_iter().find(|name| !is_field(name)) {
            return Err(format!(
                "example {} has `{}`, which is no name of an argument or a value",
                at + 1,
                bad.escape_debug()
            ));
        }
    }
    Ok(())
}

fn is_field(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && name.len() <= MAX_NAME && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit()) && name != "ok"
}

impl Spec {
    /// What the owner's examples say; `None` where there are none.
    #[must_use]
    pub fn of_examples(order: &DraftOrder) -> Option<Self> {
        if order.examples.is_empty() {
            return None;
        }
        let inputs: Vec<&Map<String, Value>> = order.examples.iter().map(|example| &example.input).collect();
        let outputs: Vec<&Map<String, Value>> =
            order.examples.iter().filter_map(|example| example.output.as_ref()).collect();
        let wish = one_line(&order.wish, MAX_WISH);
        Some(Self {
            name: if order.name.is_empty() { name_of(&wish) } else { order.name.clone() },
            summary: sentence(&wish),
            lang: order.lang,
            inputs: fields(&inputs),
            outputs: fields(&outputs),
            examples: order.examples.clone(),
            owners: order.examples.len(),
            wish,
        })
    }

    /// What a model has specified for an order without examples.
    ///
    /// # Errors
    /// In a sentence, what the reply lacks.
    pub fn of_reply(order: &DraftOrder, reply: &str) -> Result<Self, String> {
        let said: Specified = read(reply)?;
        let wish = one_line(&order.wish, MAX_WISH);
        let name = [&order.name, &said.name].into_iter().find(|name| is_name(name)).cloned();
        let inputs = specified("inputs", said.inputs)?;
        let outputs = specified("outputs", said.outputs)?;
        let summary = one_line(&said.summary, MAX_SUMMARY);
        Ok(Self {
            name: name.unwrap_or_else(|| name_of(&wish)),
            summary: if summary.is_empty() { sentence(&wish) } else { sentence(&summary) },
            lang: order.lang,
            inputs,
            outputs,
            examples: Vec::new(),
            owners: 0,
            wish,
        })
    }

    /// Adds the examples of a reply that fit this specification; how many.
    ///
    /// # Errors
    /// When the reply holds none at all.
    pub fn add_examples(&mut self, reply: &str) -> Result<usize, String> {
        let said: Exemplified = read(reply)?;
        let before = self.examples.len();
        for example in said.examples.into_iter().take(MAX_ADDED) {
            let known = |at: &[Field], map: &Map<String, Value>| {
                map.keys().all(|key| at.iter().any(|field| field.name == *key))
                    && at.iter().all(|field| !field.required || map.contains_key(&field.name))
            };
            let fits = known(&self.inputs, &example.input)
                && example.output.as_ref().is_none_or(|output| known(&self.outputs, output));
            let is_new = self.examples.iter().all(|other| other.input != example.input);
            if fits && is_new && self.examples.len() < MAX_DRAFT_EXAMPLES {
                self.examples.push(example);
            }
        }
        Ok(self.examples.len() - before)
    }
}

/// A model's specification.
#[derive(Debug, Deserialize)]
struct Specified {
    #[serde(default)]
    name: String,
    #[serde(default)]
    summary: String,
    inputs: Vec<SpecifiedField>,
    outputs: Vec<SpecifiedField>,
}

#[derive(Debug, Deserialize)]
struct SpecifiedField {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    about: String,
}

/// A model's examples.
#[derive(Debug, Deserialize)]
struct Exemplified {
    examples: Vec<DraftExample>,
}

fn specified(what: &str, said: Vec<SpecifiedField>) -> Result<Vec<Field>, String> {
    if said.is_empty() || said.len() > MAX_FIELDS {
        return Err(format!(
            "`{what}` of the specification has {} entries; 1 to {MAX_FIELDS} are expected",
            said.len()
        ));
    }
    let field = |said: SpecifiedField| {
        let schema = shape::of_type(&said.kind).filter(|_| is_field(&said.name));
        let schema = schema.ok_or_else(|| {
            let (name, kind) = (said.name.escape_debug(), said.kind.escape_debug());
            format!("`{what}` of the specification names `{name}` of type `{kind}`")
        })?;
        Ok(Field { about: one_line(&said.about, MAX_ABOUT), name: said.name, schema, required: true })
    };
    let fields: Vec<Field> = said.into_iter().map(field).collect::<Result<_, String>>()?;
    match fields.iter().enumerate().find(|(at, field)| fields[..*at].iter().any(|other| other.name == field.name)) {
        Some((_, twice)) => Err(format!("`{what}` of the specification names `{}` twice", twice.name)),
        None => Ok(fields),
    }
}

/// The first JSON object in a reply, as a model writes it: among words, in a block, with more behind it.
fn read<T: serde::de::DeserializeOwned>(reply: &str) -> Result<T, String> {
    let mut why = "the reply holds no JSON object".to_owned();
    for (at, _) in reply.match_indices('{') {
        let mut objects = serde_json::Deserializer::from_str(&reply[at..]).into_iter::<T>();
        match objects.next() {
            Some(Ok(found)) => return Ok(found),
            Some(Err(error)) if error.is_data() => why = format!("the reply's JSON does not fit: {error}"),
            Some(Err(_)) | None => {}
        }
    }
    Err(why)
}

fn fields(maps: &[&Map<String, Value>]) -> Vec<Field> {
    let mut names: Vec<&String> = Vec::new();
    for name in maps.iter().flat_map(|map| map.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let field = |name: &String| {
        let values: Vec<&Value> = maps.iter().filter_map(|map| map.get(name)).collect();
        Field {
            name: name.clone(),
            schema: shape::of(&values),
            about: String::new(),
            required: values.len() == maps.len(),
        }
    };
    names.into_iter().map(field).collect()
}

/// A text as one line of at most so many bytes.
fn one_line(text: &str, bytes: usize) -> String {
    cut(line(text), bytes).trim_end().to_owned()
}

/// A wish as the summary of an executor.
fn sentence(wish: &str) -> String {
    let mut summary = one_line(wish, MAX_SUMMARY - 4);
    if let Some(first) = summary.chars().next() {
        summary.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
    }
    if !summary.ends_with(['.', '!', '?']) {
        summary.push('.');
    }
    summary
}

/// A name made of the words of a wish.
fn name_of(wish: &str) -> String {
    let folded: String = wish.to_lowercase().chars().map(plain).collect();
    let words = folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2);
    let mut name = words.take(WORDS_OF_A_NAME).collect::<Vec<_>>().join("_");
    name.truncate(MAX_NAME - 4);
    let name = name.trim_matches('_').to_owned();
    if is_name(&name) { name } else { "drafted".to_owned() }
}

/// Letters with an accent without it, as Italian has them.
const fn plain(c: char) -> char {
    match c {
        'à' | 'á' | 'â' => 'a',
        'è' | 'é' | 'ê' => 'e',
        'ì' | 'í' | 'î' => 'i',
        'ò' | 'ó' | 'ô' => 'o',
        'ù' | 'ú' | 'û' => 'u',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::draft::testing::order;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn examples_give_name_summary_and_fields() {
        let examples = json!([
            {"in": {"text": "Invoice 12", "strict": true}, "out": {"number": "12"}},
            {"in": {"text": "no number"}, "out": null},
        ]);
        let spec = Spec::of_examples(&order("extract the invoice number from a text", examples)).unwrap();
        assert_eq!(spec.name, "extract_the_invoice_number");
        assert_eq!(spec.summary, "Extract the invoice number from a text.");
        let shown: Vec<(&str, bool)> = spec.inputs.iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!(shown, [("strict", false), ("text", true)]);
        assert_eq!((spec.outputs.len(), spec.outputs[0].name.as_str()), (1, "number"));
    }

    #[test]
    fn order_that_cannot_be_served_says_what_is_wrong() {
        let wrong = |order: &DraftOrder| check(order).unwrap_err();
        assert!(wrong(&order(" ", json!([]))).contains("the wish"));
        assert!(wrong(&order("two\nlines", json!([]))).contains("the wish"));
        assert!(wrong(&order("\u{200b}", json!([]))).contains("the wish"), "nothing of it can be seen");
        assert!(wrong(&DraftOrder { name: "Bad Name".to_owned(), ..order("w", json!([])) }).contains("`Bad Name`"));
        assert!(wrong(&order("w", json!([{"in": {"a": 1}, "out": null}]))).contains("no example has a result"));
        assert!(wrong(&order("w", json!([{"in": {}, "out": {"b": 1}}]))).contains("example 1"));
        assert!(wrong(&order("w", json!([{"in": {"a b": 1}, "out": {"b": 1}}]))).contains("`a b`"));
        assert!(wrong(&order("w", json!([{"in": {"a": 1}, "out": {"ok": true}}]))).contains("`ok`"));
        assert_eq!(check(&order("w", json!([{"in": {"a": 1}, "out": {"b": 1}}]))), Ok(()));
    }

    #[test]
    fn specification_is_found_among_words_and_made_fit() {
        let reply = "Sure! {not json} ```json\n{\"name\": \"word_count\", \"summary\": \"counts\\u202e the words\",\n\
                     \"inputs\": [{\"name\": \"text\", \"type\": \"string\", \"about\": \"The text\"}],\n\
                     \"outputs\": [{\"name\": \"words\", \"type\": \"integer\"}], \"extra\": 1}\n```";
        let spec = Spec::of_reply(&order("count words", json!([])), reply).unwrap();
        assert_eq!((spec.name.as_str(), spec.summary.as_str()), ("word_count", "Counts the words."));
        assert_eq!(spec.outputs[0].schema, json!({"type": "integer"}));
        for bad in [
            "no JSON",
            "{\"inputs\": [], \"outputs\": []}",
            "{\"inputs\": [{\"name\": \"a\", \"type\": \"file\"}], \"outputs\": [{\"name\": \"b\", \"type\": \"str\"}]}",
            "{\"inputs\": [{\"name\": \"a\", \"type\": \"str\"}], \"outputs\": [{\"name\": \"ok\", \"type\": \"str\"}]}",
            "{\"inputs\": [{\"name\": \"a\", \"type\": \"str\"}, {\"name\": \"a\", \"type\": \"str\"}], \"outputs\": [{\"name\": \"b\", \"type\": \"str\"}]}",
        ] {
            assert!(Spec::of_reply(&order("count words", json!([])), bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_new_examples_that_fit_are_added() {
        let mut spec = Spec::of_examples(&order("add", json!([{"in": {"a": 1, "b": 2}, "out": {"sum": 3}}]))).unwrap();
        let reply = json!({"examples": [
            {"in": {"a": 1, "b": 2}, "out": {"sum": 4}},
            {"in": {"a": 1}, "out": {"sum": 1}},
            {"in": {"a": 2, "b": 2, "c": 1}, "out": {"sum": 4}},
            {"in": {"a": 2, "b": 2}, "out": {"sum": 4}},
            {"in": {"a": 0, "b": 0}, "out": null},
        ]});
        assert_eq!(spec.add_examples(&reply.to_string()), Ok(2));
        assert_eq!((spec.examples.len(), spec.owners), (3, 1));
        assert!(spec.add_examples("nothing").is_err());
    }

    proptest! {
        #[test]
        fn any_wish_gives_a_name_and_a_summary(wish in ".{1,300}") {
            prop_assert!(is_name(&name_of(&wish)));
            let summary = sentence(&one_line(&wish, MAX_WISH));
            prop_assert!(summary.chars().count() <= MAX_SUMMARY && !summary.chars().any(char::is_control));
        }

        #[test]
        fn any_reply_is_read_or_refused(reply in ".{0,400}") {
            let _ = Spec::of_reply(&order("count words", json!([])), &reply);
        }
    }
}
