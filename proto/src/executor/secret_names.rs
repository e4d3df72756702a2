//! Files that hold secrets, recognised by their names or by their first bytes (design: policy §2). They are read only
//! when the owner's own words name the file, or on a card; never by a walk, and never for anybody else.
//!
//! A name is a heuristic: this list decides what is asked about and masked, never what is allowed.

use super::forbidden::fold;

/// Names that are secrets wherever they lie, letter case aside.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    "wallet.dat",
    "login data",
    "key4.db",
    "logins.json",
    "passwd",
    "shadow",
    "gshadow",
    ".dockercfg",
    ".boto",
    ".s3cfg",
    ".smbcredentials",
    ".credentials",
];

/// What such a name begins with, unless a letter or digit follows: `cookies.sqlite`, `secrets.yaml`.
const STEMS: &[&str] =
    &["secrets", "secret", "credentials", "credential", "cookies", "passwords", "password", "htpasswd"];

/// Keys of ssh have these names, `.pub` aside.
const SSH_KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss"];

/// What such a name ends with.
const ENDINGS: &[&str] = &[
    ".env",
    ".pem",
    ".key",
    ".kdbx",
    ".kdb",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".ppk",
    ".age",
    ".ovpn",
    ".keytab",
    ".agekey",
    ".tfstate",
];

/// The beginnings of files that are secrets whatever they are called.
const SIGNATURES: &[&[u8]] = &[
    b"-----BEGIN PRIVATE KEY-----",
    b"-----BEGIN ENCRYPTED PRIVATE KEY-----",
    b"-----BEGIN RSA PRIVATE KEY-----",
    b"-----BEGIN DSA PRIVATE KEY-----",
    b"-----BEGIN EC PRIVATE KEY-----",
    b"-----BEGIN OPENSSH PRIVATE KEY-----",
    b"-----BEGIN PGP PRIVATE KEY BLOCK-----",
    b"PuTTY-User-Key-File-",
    b"AGE-SECRET-KEY-",
    b"# created: ", // age-keygen writes this line before the key; confirmed by `holds_age_key`
    b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5", // KeePass 2
    b"\x03\xd9\xa2\x9a\x65\xfb\x4b\xb5", // KeePass 1
];

/// How many of the first bytes of a file [`is_secret_content`] wants to see.
pub const SIGNATURE_BYTES: usize = 256;

/// Whether a file or folder of this name (its last part alone) is taken for a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let folded = fold(name);
    let name = folded.trim_end_matches(['.', ' ']);
    // Copies and backups of a secret are one: `.env.local`, `id_rsa.bak`, `wallet.dat~`.
    let bare = ["~", ".bak", ".old", ".orig", ".save", ".swp", ".tmp", ".copy"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    let begins = |stem: &str| {
        bare.strip_prefix(stem)
            .or_else(|| bare.strip_prefix('.')?.strip_prefix(stem))
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    NAMES.contains(&bare)
        || bare.starts_with(".env.")
        || SSH_KEYS.contains(&bare)
        || STEMS.iter().any(|stem| begins(stem))
        || ENDINGS.iter().any(|ending| bare.ends_with(ending))
}

/// Whether any part of this path is taken for a secret; both kinds of separators count.
#[must_use]
pub fn is_secret_path(path: &str) -> bool {
    path.split(['/', '\\']).any(is_secret_name)
}

/// Whether a word of a command or a search has the shape of a path, so that it may name a file: `id_rsa` alone is a word, and
/// opens nothing; `keys/id_rsa` and `.env` are paths. Who decides on a call and who hides files from it read words alike by it.
#[must_use]
pub fn is_path_shaped(word: &str) -> bool {
    word.contains(['/', '\\', '.']) && !word.chars().any(char::is_whitespace)
}

/// Whether a file that begins with these bytes is taken for a secret.
#[must_use]
pub fn is_secret_content(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    SIGNATURES.iter().any(|signature| text.starts_with(signature))
        && (!text.starts_with(b"# created: ") || holds_age_key(text))
}

fn holds_age_key(head: &[u8]) -> bool {
    head.windows(15).any(|window| window == b"AGE-SECRET-KEY-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_recognised_in_any_case_and_as_copies() {
        for name in [
            ".env",
            ".ENV",
            "prod.env",
            ".env.local",
            "secrets.yaml",
            "secret",
            "id_rsa",
            "id_ed25519",
            "id_rsa.bak",
            "server.pem",
            "tls.KEY",
            "family.kdbx",
            "cookies.sqlite",
            "Cookies",
            "Login Data",
            "wallet.dat",
            "credentials.json",
            ".npmrc",
            ".pypirc",
            "credentials",
            ".env~",
            "\u{200b}.env",
            "passwords.txt",
            ".env.",
            "ｗallet.dat",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn ordinary_household_names_are_not_secret() {
        for name in [
            "notes.md",
            "shopping.md",
            "id_rsa.pub",
            "environment.md",
            "secretary.md",
            "keyboard.txt",
            "monkey",
            "identity.md",
            "id_card.jpg",
            "passport.pdf",
            "envelope.txt",
            "credits.md",
            "wallet.md",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_path_is_secret_when_any_part_of_it_is() {
        assert!(is_secret_path("notes/.env/readme"));
        assert!(is_secret_path("a\\b\\id_rsa"));
        assert!(!is_secret_path("notes/welcome.md"));
    }

    #[test]
    fn private_keys_and_databases_of_passwords_are_known_by_their_first_bytes() {
        assert!(is_secret_content(b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn"));
        assert!(is_secret_content(b"\n\n-----BEGIN RSA PRIVATE KEY-----"));
        assert!(is_secret_content(b"# created: 2026-01-01\n# public key: age1\nAGE-SECRET-KEY-1XX"));
        assert!(is_secret_content(b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5\x00"));
        assert!(!is_secret_content(b"# created: by me\nbread\n"));
        assert!(!is_secret_content(b"-----BEGIN CERTIFICATE-----"));
        assert!(!is_secret_content(b""));
    }
}
