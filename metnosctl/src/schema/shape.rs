//! Shapes of JSON in a short notation, and the JSON Schema that each is. The notation, as in `shapes.txt`:
//!
//! `text`, `bool`, `true`, `false`, `null`, `count` (a whole number from 0), `int`, `number`, `any`, `"word"` · `[T]` a list ·
//! `{ key: T, key?: T }` an object, whose `?` keys may be missing · `{ *: T }` one with any keys · `[T, U]` a list of just
//! these · `A | B` either · `T?` that or `null` · `Name` what the file defines under that name.

use serde_json::{Map, Value, json};

/// How deep shapes may lie within shapes.
const MAX_DEPTH: usize = 16;

/// One definition: what is defined, whether each line of the output is one, and the schema.
#[derive(Debug, PartialEq)]
pub struct Definition {
    /// The command, or a name that begins with a capital letter.
    pub name: String,
    /// Whether each line is a document.
    pub by_line: bool,
    /// Its schema.
    pub schema: Value,
}

/// Reads a file of definitions, `name = shape` or `name, a line = shape`; a line that begins with `#` says something to
/// readers.
///
/// # Errors
/// In words, where it is no such file.
pub fn definitions(text: &str) -> Result<Vec<Definition>, String> {
    let kept: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let mut reader = Reader { rest: &kept };
    let mut all = Vec::new();
    while !reader.blank().is_empty() {
        let (head, rest) = reader.rest.split_once('=').ok_or_else(|| reader.wrong("a definition"))?;
        let head = head.trim();
        let (name, by_line) = head.strip_suffix(", a line").map_or((head, false), |name| (name, true));
        reader.rest = rest;
        let schema = reader.shape(0).map_err(|why| format!("{name}: {why}"))?;
        all.push(Definition { name: name.to_owned(), by_line, schema });
    }
    Ok(all)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn wrong(&self, wanted: &str) -> String {
        format!("{wanted} is wanted before {:?}", self.rest.chars().take(40).collect::<String>())
    }

    /// What is left, behind blanks.
    fn blank(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn takes(&mut self, sign: &str) -> bool {
        let taken = self.blank().strip_prefix(sign);
        self.rest = taken.unwrap_or(self.rest);
        taken.is_some()
    }

    fn wants(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.wrong(&format!("`{sign}`"))) }
    }

    fn word(&mut self) -> &'a str {
        let text = self.blank();
        let end =
            text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.')).unwrap_or(text.len());
        self.rest = &text[end..];
        &text[..end]
    }

    fn shape(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
        let mut ways = vec![self.one(depth)?];
        while self.takes("|") {
            ways.push(self.one(depth)?);
        }
        let words: Option<Vec<&Value>> = ways.iter().map(|way| way.get("const")).collect();
        Ok(match (ways.len(), words) {
            (1, _) => ways.swap_remove(0),
            (_, Some(words)) => json!({ "enum": words }),
            (_, None) => json!({ "anyOf": ways }),
        })
    }

    fn one(&mut self, depth: usize) -> Result<Value, String> {
        let shape = match self.blank().chars().next() {
            Some('{') => self.object(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => {
                let (word, rest) = self.rest[1..].split_once('"').ok_or_else(|| self.wrong("`\"`"))?;
                self.rest = rest;
                json!({ "const": word })
            }
            _ => match self.word() {
                "text" => json!({ "type": "string" }),
                "bool" => json!({ "type": "boolean" }),
                "true" => json!({ "const": true }),
                "false" => json!({ "const": false }),
                "null" => json!({ "type": "null" }),
                "count" => json!({ "type": "integer", "minimum": 0 }),
                "int" => json!({ "type": "integer" }),
                "number" => json!({ "type": "number" }),
                "any" => json!({}),
                name if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    json!({ "$ref": format!("#/$defs/{name}") })
                }
                _ => return Err(self.wrong("a shape")),
            },
        };
        Ok(if self.rest.starts_with('?') && self.takes("?") {
            json!({ "anyOf": [shape, { "type": "null" }] })
        } else {
            shape
        })
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.wants("[")?;
        let mut items = vec![self.shape(depth + 1)?];
        while self.takes(",") {
            items.push(self.shape(depth + 1)?);
        }
        self.wants("]")?;
        Ok(match items.len() {
            1 => json!({ "type": "array", "items": items.swap_remove(0) }),
            count => json!({ "type": "array", "prefixItems": items, "minItems": count, "maxItems": count }),
        })
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.wants("{")?;
        if self.takes("*") {
            self.wants(":")?;
            let values = self.shape(depth + 1)?;
            self.wants("}")?;
            return Ok(json!({ "type": "object", "additionalProperties": values }));
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        while !self.takes("}") {
            let key = self.word().to_owned();
            if key.is_empty() || properties.contains_key(&key) {
                return Err(self.wrong("a key of its own"));
            }
            if !self.takes("?") {
                required.push(key.clone());
            }
            self.wants(":")?;
            properties.insert(key, self.shape(depth + 1)?);
            if !self.takes(",") && !self.blank().starts_with('}') {
                return Err(self.wrong("`,` or `}`"));
            }
        }
        Ok(json!({ "type": "object", "properties": properties, "required": required }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn schema(shape: &str) -> Value {
        definitions(&format!("it = {shape}")).unwrap().swap_remove(0).schema
    }

    #[test]
    fn each_sign_of_the_notation_is_its_schema() {
        for (shape, wanted) in [
            ("text", json!({"type": "string"})),
            ("count?", json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]})),
            ("\"a\" | \"b\"", json!({"enum": ["a", "b"]})),
            ("[Event]", json!({"type": "array", "items": {"$ref": "#/$defs/Event"}})),
            (
                "[text, int]",
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2}),
            ),
            ("{ *: bool }", json!({"type": "object", "additionalProperties": {"type": "boolean"}})),
            (
                "{ a: any, b?: null, }",
                json!({"type": "object", "properties": {"a": {}, "b": {"type": "null"}}, "required": ["a"]}),
            ),
            ("text | number", json!({"anyOf": [{"type": "string"}, {"type": "number"}]})),
        ] {
            assert_eq!(schema(shape), wanted, "{shape}");
        }
    }

    #[test]
    fn malformed_shape_is_refused_by_name() {
        for wrong in
            ["it", "it = ", "it = texts", "it = { a text }", "it = { a: text, a: int }", "it = [text", "it = \"a"]
        {
            assert!(definitions(wrong).is_err(), "{wrong}");
        }
        let deep = format!("it = {}text{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
        assert!(definitions(&deep).unwrap_err().starts_with("it: "));
    }

    #[test]
    fn a_file_has_definitions_of_documents_and_of_lines() {
        let all = definitions("# one\nOne = text\n\nask, a line = One\nup = { ok: true }\n").unwrap();
        let names: Vec<(&str, bool)> = all.iter().map(|one| (one.name.as_str(), one.by_line)).collect();
        assert_eq!(names, [("One", false), ("ask", true), ("up", false)]);
    }
}
