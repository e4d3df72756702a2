//! PDFs, office documents, workbooks and archives in a running set: files as other programs write them, read as a household asks
//! for them, and what is made of them taken back.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use metnos_tests::instance::Instance;

/// A set with these papers in `documents/`.
fn set() -> Instance {
    let set = Instance::start();
    set.is_grown();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/papers.py");
    let folder = set.workspace("documents");
    let made = Command::new("/usr/bin/python3").args(["-I", "-B", script]).arg(&folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    for own in files.chain([folder.clone()]) {
        std::os::unix::fs::chown(own, Some(set.owner()), Some(set.owner())).unwrap();
    }
    set
}

/// What was said about these words, in any way.
fn heard(set: &Instance, words: &str) -> String {
    let output = set.ctl(&["ask", words]);
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Every file of a folder with what is in it, and every folder; what begins with a dot is kept for taking acts back.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(here) = pending.pop() {
        for entry in std::fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if name.split('/').any(|part| part.starts_with('.')) {
                continue;
            }
            let content = if path.is_dir() { b"a folder".to_vec() } else { std::fs::read(&path).unwrap() };
            found.insert(name, content);
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
    found
}

#[test]
fn documents_are_read_and_searched_as_a_household_asks_for_them() {
    let set = set();
    for (words, wanted) in [
        ("read the electricity bill", &["Invoice 2026/0042: 84,30 euros", "To be paid by 15 December"][..]),
        ("read page 2 of the electricity bill", &["To be paid by 15 December"]),
        ("leggi la bolletta del gas", &["Fattura 77: 61,20 euro"]),
        ("what does documents/electricity-bill.pdf say", &["84,30 euros"]),
        ("read documents/blank.pdf", &["There is no writing on the pages of documents/blank.pdf"]),
        ("read the lease", &["Scontrino numero 118 del 14 agosto", "43,40 euro", "I read this off a scan"]),
        ("leggi pagina 2 di lease.pdf", &["Totale da pagare 43,40 euro", "da una scansione"]),
        ("leggi la foto dello scontrino", &["Scarpe da bambino 39,90 euro", "43,40 euro"]),
        ("what does receipt-on-its-side.png say", &["Calzature Rossi di Maria Rossi", "43,40 euro"]),
        ("read the text in sea.png", &["is not an image that I can read"]),
        ("what does the insurance say", &["The deductible is 500 euros", "Policy\tA-17"]),
        ("leggi la garanzia", &["La lavatrice \u{e8} coperta fino al 2029."]),
        ("which document mentions the deductible", &["documents/insurance.docx: The deductible is 500 euros"]),
        ("cerca la lavatrice nei documenti", &["documents/garanzia.odt: La lavatrice \u{e8} coperta"]),
        ("which document mentions December", &["documents/electricity-bill.pdf: To be paid by 15 December"]),
        ("which document mentions unicorns", &["I found \u{201c}unicorns\u{201d} in no document."]),
        ("show the table budget.xlsx", &["school trip", "2026-05-09"]),
        ("sum of amount in documents/budget.xlsx", &["122.5"]),
        ("what is the largest importo in documents/conti.ods", &["81.4"]),
        ("read the sheet June of the budget", &["nothing yet"]),
        ("read the sheet July of the budget", &["no such sheet"]),
        ("when was the photo of the sea taken", &["Which one: documents/sea.jpg, documents/sea.png"]),
        ("when was sea.jpg taken", &["JPEG", "480 \u{d7} 640", "2026-08-14 18:30", "45.5, 9.25"]),
    ] {
        let told = heard(&set, words);
        for part in wanted {
            assert!(told.contains(part), "{words}: {told}");
        }
    }
    // Running pdftotext needs no approval: the call is decided as one that only reads.
    let (code, answer) = set.run("pdf_text", &["path=documents/electricity-bill.pdf"]);
    assert_eq!((code, answer["result"]["pages"].as_u64()), (0, Some(2)), "{answer:#}");
    let ((code, _), lines) = set.recording(|| set.run("pdf_text", &["path=documents/bolletta-gas.pdf"]));
    let rules: Vec<&str> = lines.iter().map(|line| line.payload("rule")).filter(|rule| !rule.is_empty()).collect();
    assert_eq!((code, rules.as_slice()), (0, ["read.granted"].as_slice()));
    // The photo is read by a program that is shown the languages it knows, and reads nothing else.
    let (code, told) = set.run("ocr_text", &["path=documents/scontrino.jpg"]);
    assert!(code == 0 && told["result"]["sure"].as_u64() > Some(80), "{told:#}");
    set.verify();
}

#[test]
fn what_is_made_of_documents_lies_beside_them_and_is_taken_back_whole() {
    let mut set = set();
    let folder = set.workspace("documents");
    let before = tree(&folder);
    let told = set.ask("convert the budget to csv");
    assert!(told.contains("documents/budget.csv") && told.contains("3 rows"), "{told}");
    let made = std::fs::read_to_string(folder.join("budget.csv")).unwrap();
    assert_eq!(made, "date,what,amount\n2026-05-02,bread,2.5\n2026-05-09,school trip,120\n");
    let told = set.ask("undo");
    assert!(told.contains("gone again"), "{told}");
    assert_eq!(tree(&folder), before);

    let told = set.ask("unzip pictures.zip");
    assert!(told.contains("documents/pictures: 2 files"), "{told}");
    assert_eq!(std::fs::read(folder.join("pictures/sea/b.md")).unwrap(), b"b");
    let _ = set.ask("undo");
    assert_eq!(tree(&folder), before);

    // A restart in between changes nothing of that; what somebody has changed since stays.
    let _ = set.ask("estrai pictures.zip");
    set.down();
    set.up();
    std::fs::write(folder.join("pictures/sea/b.md"), "mine").unwrap();
    let told = heard(&set, "undo");
    assert!(told.contains("changed since"), "{told}");
    assert_eq!(std::fs::read(folder.join("pictures/sea/b.md")).unwrap(), b"mine");
    let told = set.ask("comprimi la cartella documents/pictures in documents/mare.zip");
    assert!(told.contains("documents/mare.zip: 2 file"), "{told}");
    let names =
        Command::new("/usr/bin/python3").args(["-I", "-m", "zipfile", "-l"]).arg(folder.join("mare.zip")).output();
    let names = String::from_utf8(names.unwrap().stdout).unwrap();
    assert!(names.contains("pictures/sea/a.md") && names.contains("pictures/sea/b.md"), "{names}");
    set.verify();
}

/// The code of the executors as it is, without a sandbox around it: thousands of documents, each broken in another way.
#[test]
fn broken_documents_end_as_contract_errors_and_leave_nothing_behind() {
    let papers = tempfile::tempdir().unwrap();
    let tests = env!("CARGO_MANIFEST_DIR");
    let python = |script: &str, words: &[&str]| {
        let script = format!("{tests}/peers/{script}");
        let output = Command::new("/usr/bin/python3").args(["-I", "-B", "-W", "ignore", &script]).args(words).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let folder = papers.path().to_str().unwrap();
    python("papers.py", &[folder]);
    assert_eq!(python("broken.py", &[&format!("{tests}/../executors"), folder, "2026", "8000"]), "");
}

#[test]
fn archives_that_could_do_harm_are_refused_as_a_whole() {
    let set = set();
    let before = tree(&set.workspace("."));
    for (name, class) in [("climbs.zip", "BadArchive"), ("links.tar.gz", "BadArchive"), ("large.tgz", "TooLarge")] {
        for _ in 0..3 {
            let (code, answer) = set.run("archive_unpack", &[&format!("path=documents/{name}"), "to=documents/new"]);
            assert_eq!((code, answer["result"]["error"]["class"].as_str()), (1, Some(class)), "{name}: {answer:#}");
        }
    }
    for path in ["people", "."] {
        let (code, answer) = set.run("archive_pack", &[&format!("path={path}"), "to=all.zip"]);
        assert_ne!(code, 0, "{path}: {answer:#}");
    }
    // The net of a hostile document is the caller's patience: no strike, nothing left behind.
    assert_eq!(tree(&set.workspace(".")), before);
    let (_, list) = set.json(&["executor", "list"]);
    let row = list.as_array().unwrap().iter().find(|row| row["name"] == "archive_unpack").unwrap();
    assert_eq!(row["state"], "active", "{row:#}");
    set.verify();
}
