//! A card as policyd shows it to the owner, for the tests that look at one.

/// A card as policyd shows it.
pub const CARD: &str = r#"{"id": "ab2c-d3ef", "state": "waiting", "principal": "cli:uid:1000", "turn": "T", "hard": false,
    "acts": [{"executor": "fs_delete", "version": "1.0.0", "signed": [], "arguments": {"path": "old"}, "class": "destroy",
        "reversible": true, "rule": "destroy.many", "why": "many", "always": null, "cost_micro": 0, "targets": [],
        "fields": [{"pointer": "/path", "role": "path", "label": "trusted", "source": "intent"}],
        "count": {"files": 681, "folders": 3, "bytes": 9, "covered": 0}}],
    "made_ms": 1, "expires_ms": 2, "digest": "blake3:00", "answered_by": "", "begun": 0, "lang": "en"}"#;
