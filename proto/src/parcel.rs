//! An executor on its way from one instance to another: its four texts, where they come from, and the exporter's signature over
//! all of it. One canonical JSON document, so that nothing in it has a path, a link or a second spelling. Reading one proves
//! nothing but its form: whose signature it is and whether that counts is for anyone who imports it.

use serde_json::{Map, Value, json};

use crate::executor::{MAX_BIRTH_BYTES, MAX_CODE_BYTES, MAX_MANIFEST_BYTES, MAX_SCHEMA_BYTES, Manifest};
use crate::ids::Blake3;
use crate::json::{self, Limits};
use crate::msg::common::ExecutorId;

/// What every parcel begins with, and its signature covers.
pub const FORMAT: &str = "metnos-executor-1";
/// The longest parcel, in bytes: every byte of a text can become six.
pub const MAX_PARCEL_BYTES: usize =
    6 * (MAX_MANIFEST_BYTES + MAX_CODE_BYTES + MAX_SCHEMA_BYTES + MAX_BIRTH_BYTES) + (8 << 10);
/// The most instances that a parcel names as those that it came through.
pub const MAX_CAME_THROUGH: usize = 16;
/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 64;

/// The texts of an executor, each under the only name that it can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// `manifest.toml`.
    pub manifest: String,
    /// `main.py`.
    pub code: String,
    /// `schema.json`.
    pub schema: String,
    /// `tests/birth.py`.
    pub tests: String,
}

/// Names and limits of the texts, in the order of [`Texts`].
const FILES: [(&str, usize); 4] = [
    ("manifest.toml", MAX_MANIFEST_BYTES),
    ("main.py", MAX_CODE_BYTES),
    ("schema.json", MAX_SCHEMA_BYTES),
    ("tests/birth.py", MAX_BIRTH_BYTES),
];

impl Texts {
    /// The texts as a JSON object.
    #[must_use]
    pub fn document(&self) -> Value {
        let all = [&self.manifest, &self.code, &self.schema, &self.tests];
        Value::Object(FILES.iter().zip(all).map(|((name, _), text)| ((*name).to_owned(), json!(text))).collect())
    }

    /// Reads the texts of exactly these four names, each within its limit.
    ///
    /// # Errors
    /// In a sentence, the first thing that does not hold.
    pub fn read(mut object: Map<String, Value>) -> Result<Self, String> {
        let mut text = |(name, limit): (&str, usize)| match object.remove(name) {
            Some(Value::String(text)) if text.len() <= limit => Ok(text),
            Some(Value::String(text)) => Err(format!("{name} has {} bytes; at most {limit} are accepted", text.len())),
            Some(_) => Err(format!("{name} is no text")),
            None => Err(format!("{name} is missing")),
        };
        let [manifest, code, schema, tests] = FILES;
        let texts = Self { manifest: text(manifest)?, code: text(code)?, schema: text(schema)?, tests: text(tests)? };
        match object.keys().next() {
            None => Ok(texts),
            Some(extra) => Err(format!("`{}` is no file of an executor", shortened(extra))),
        }
    }
}

/// A parcel. What it says about its way is its exporter's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// What is in it: name and version of its manifest.
    pub id: ExecutorId,
    /// Its texts.
    pub texts: Texts,
    /// The public key of the instance that made it.
    pub exporter: Blake3,
    /// When that was, in milliseconds since the epoch.
    pub exported_ms: u64,
    /// When that instance had signed the executor.
    pub born_ms: u64,
    /// The keys of the instances that it came through before, oldest first; at most [`MAX_CAME_THROUGH`].
    pub came_through: Vec<Blake3>,
}

impl Parcel {
    fn document(&self) -> Value {
        json!({
            "format": FORMAT, "name": self.id.name, "version": self.id.version, "files": self.texts.document(),
            "provenance": {
                "exporter": self.exporter.hex(), "exported_ms": self.exported_ms, "born_ms": self.born_ms,
                "came_through": self.came_through.iter().map(Blake3::hex).collect::<Vec<_>>(),
            },
        })
    }

    /// What the exporter's signature covers: everything.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let digest = json::digest(&self.document());
        [FORMAT.as_bytes(), &[0], &digest.0].concat()
    }

    /// The whole parcel, as it lies in a file.
    #[must_use]
    pub fn write(&self, signature: &[u8; SIGNATURE_BYTES]) -> Vec<u8> {
        let mut document = self.document();
        document["signature"] = json!(signature.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let mut bytes = json::canonical(&document);
        bytes.push(b'\n');
        bytes
    }

    /// Reads what [`Parcel::write`] writes, and nothing else; with its signature, which is not looked at.
    ///
    /// # Errors
    /// In a sentence, the first thing that does not hold.
    pub fn read(bytes: &[u8]) -> Result<(Self, [u8; SIGNATURE_BYTES]), String> {
        let limits = Limits { max_bytes: MAX_PARCEL_BYTES, max_depth: 3 };
        let mut object = json::parse_object(bytes, limits).map_err(|why| why.to_string())?;
        if object.remove("format").as_ref().and_then(Value::as_str) != Some(FORMAT) {
            return Err(format!("its `format` is not {FORMAT}"));
        }
        let id = ExecutorId { name: text(&mut object, "name")?, version: text(&mut object, "version")? };
        let texts = Texts::read(map(&mut object, "files")?)?;
        let mut provenance = map(&mut object, "provenance")?;
        let signature = hex(&text(&mut object, "signature")?).ok_or("its `signature` is no 128 hexadecimal digits")?;
        let came_through = match provenance.remove("came_through") {
            Some(Value::Array(all)) if all.len() <= MAX_CAME_THROUGH => all,
            Some(_) | None => return Err(format!("`came_through` is no list of at most {MAX_CAME_THROUGH} keys")),
        };
        let came_through = came_through.iter().map(key).collect::<Result<_, _>>()?;
        let parcel = Self {
            id,
            texts,
            exporter: key(&provenance.remove("exporter").unwrap_or_default())?,
            exported_ms: number(&mut provenance, "exported_ms")?,
            born_ms: number(&mut provenance, "born_ms")?,
            came_through,
        };
        if let Some(extra) = object.keys().chain(provenance.keys()).next() {
            return Err(format!("it has a part `{}` that no parcel has", shortened(extra)));
        }
        let manifest = Manifest::parse(parcel.texts.manifest.as_bytes()).map_err(|why| why.to_string())?;
        if manifest.id() != parcel.id {
            return Err(format!(
                "it says that it is {} {}, and its manifest that it is {}",
                shortened(&parcel.id.name),
                shortened(&parcel.id.version),
                manifest.id()
            ));
        }
        if parcel.write(&signature) != bytes {
            return Err("it is not spelled as a parcel is: canonical JSON and a line end".to_owned());
        }
        Ok((parcel, signature))
    }
}

/// What came from outside, as it may stand in a sentence.
fn shortened(text: &str) -> String {
    text.escape_debug().take(80).collect()
}

fn text(object: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match object.remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) | None => Err(format!("it has no text `{name}`")),
    }
}

fn map(object: &mut Map<String, Value>, name: &str) -> Result<Map<String, Value>, String> {
    match object.remove(name) {
        Some(Value::Object(map)) => Ok(map),
        Some(_) | None => Err(format!("it has no object `{name}`")),
    }
}

fn number(object: &mut Map<String, Value>, name: &str) -> Result<u64, String> {
    let number = object.remove(name).and_then(|value| value.as_u64());
    number.ok_or_else(|| format!("it has no number `{name}`"))
}

fn key(value: &Value) -> Result<Blake3, String> {
    value.as_str().and_then(hex).map(Blake3).ok_or_else(|| "a key in it is no 64 hexadecimal digits".to_owned())
}

fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const SIGNATURE: [u8; 64] = [7; 64];

    fn manifest(name: &str) -> String {
        include_str!("../../executors/clock_now/manifest.toml").replace("clock_now", name)
    }

    fn parcel() -> Parcel {
        let manifest = manifest("clock_then");
        let version = crate::executor::Manifest::parse(manifest.as_bytes()).unwrap().id().version;
        Parcel {
            id: ExecutorId { name: "clock_then".into(), version },
            texts: Texts {
                manifest,
                code: "def run(args, ctx): ...\n".into(),
                schema: "{}".into(),
                tests: "à \u{1b} \"".into(),
            },
            exporter: Blake3([1; 32]),
            exported_ms: 9,
            born_ms: 8,
            came_through: vec![Blake3([2; 32])],
        }
    }

    fn changed(change: impl FnOnce(&mut Value)) -> String {
        let mut value: Value = serde_json::from_slice(&parcel().write(&SIGNATURE)).unwrap();
        change(&mut value);
        let mut bytes = json::canonical(&value);
        bytes.push(b'\n');
        Parcel::read(&bytes).unwrap_err()
    }

    #[test]
    fn parcel_round_trips_and_signature_covers_all_of_it() {
        let (read, signature) = Parcel::read(&parcel().write(&SIGNATURE)).unwrap();
        assert_eq!((read, signature), (parcel(), SIGNATURE));
        let signed = parcel().signed_bytes();
        let mut others = vec![parcel(); 8];
        others[0].texts.code.push(' ');
        others[1].texts.tests.push(' ');
        others[2].texts.schema.push(' ');
        others[3].texts.manifest.push(' ');
        others[4].exporter = Blake3([3; 32]);
        others[5].exported_ms += 1;
        others[6].came_through.clear();
        others[7].born_ms += 1;
        assert!(others.iter().all(|other| other.signed_bytes() != signed));
    }

    #[test]
    fn nothing_but_the_four_files_in_their_one_spelling_is_a_parcel() {
        for (name, part) in [
            ("../main.py", "no file of an executor"),
            ("/etc/passwd", "no file of an executor"),
            ("tests/../main.py", "no file of an executor"),
            ("manifest.sig", "no file of an executor"),
            ("profile.lock", "no file of an executor"),
            ("MAIN.PY", "no file of an executor"),
        ] {
            let why = changed(|value| value["files"][name] = json!("x"));
            assert!(why.contains(part), "{name}: {why}");
        }
        assert!(changed(|value| value["files"]["main.py"] = json!({"link": "/etc/passwd"})).contains("no text"));
        assert!(changed(|value| value["files"]["main.py"] = json!("x".repeat(MAX_CODE_BYTES + 1))).contains("bytes"));
        assert!(changed(|value| drop(value["files"].as_object_mut().unwrap().remove("main.py"))).contains("missing"));
        assert!(changed(|value| value["name"] = json!("fs_read")).contains("its manifest"));
        assert!(changed(|value| value["version"] = json!("99.0.0")).contains("its manifest"));
        assert!(changed(|value| value["name"] = json!("../x")).contains("its manifest"));
        assert!(changed(|value| value["more"] = json!(1)).contains("no parcel has"));
        assert!(changed(|value| value["provenance"]["more"] = json!(1)).contains("no parcel has"));
        assert!(changed(|value| value["format"] = json!("metnos-executor-2")).contains("format"));
        assert!(changed(|value| value["signature"] = json!("07")).contains("signature"));
        let many = vec![Blake3([2; 32]).hex(); MAX_CAME_THROUGH + 1];
        assert!(changed(|value| value["provenance"]["came_through"] = json!(many)).contains("at most"));
        let text = String::from_utf8(parcel().write(&SIGNATURE)).unwrap();
        // Twice the same name; another spelling of the same document.
        assert!(Parcel::read(text.replacen('{', "{\"name\":\"clock_then\",", 1).as_bytes()).is_err());
        assert!(Parcel::read(text.trim_end().as_bytes()).unwrap_err().contains("spelled"));
        assert!(Parcel::read(text.replacen(':', ": ", 1).as_bytes()).unwrap_err().contains("spelled"));
        assert!(Parcel::read(&vec![b' '; MAX_PARCEL_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_texts_come_back_as_they_were(code in any::<String>(), schema in "\\PC{0,200}", tests in any::<String>(), at in any::<u64>()) {
            let mut parcel = parcel();
            (parcel.texts.code, parcel.texts.schema, parcel.texts.tests, parcel.exported_ms) = (code, schema, tests, at);
            prop_assert_eq!(Parcel::read(&parcel.write(&SIGNATURE)).unwrap().0, parcel);
        }

        #[test]
        fn any_bytes_are_a_parcel_or_none_and_any_flipped_bit_is_another_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let _ = Parcel::read(&bytes);
            let whole = parcel().write(&SIGNATURE);
            let mut flipped = whole.clone();
            flipped[at.index(whole.len())] ^= 1 << bit;
            if let Ok((read, signature)) = Parcel::read(&flipped) {
                prop_assert!(read.signed_bytes() != parcel().signed_bytes() || signature != SIGNATURE);
            }
        }
    }
}
