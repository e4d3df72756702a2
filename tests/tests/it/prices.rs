//! What an article costs by the page of its shop: asked for in words, at a set time, and on pages that lie.

use std::process::Command;

use metnos_tests::instance::Instance;
use metnos_tests::until;
use serde_json::Value;

use crate::web::World;

/// What `price_watch` makes of an address: its result, or the class of its error.
fn read(set: &Instance, url: &str) -> Result<Value, String> {
    let (code, answer) = set.run("price_watch", &[&format!("url={url}")]);
    if code == 0 {
        Ok(answer["result"].clone())
    } else {
        Err(answer["result"]["error"]["class"].as_str().unwrap_or_default().to_owned())
    }
}

#[test]
fn prices_of_shops_are_told_and_nothing_that_their_pages_order() {
    let world = World::start();
    let set = world.set();
    let at = |path: &str| format!("http://site.example:{}{path}", world.http);
    for (path, title, price, currency) in [
        ("/lamp", "Desk lamp, green", "49.90", "EUR"),
        ("/micro", "Chair", "1299.00", "EUR"),
        ("/shown", "Book", "12.50", ""),
        ("/head", "Tent", "1299.95", "USD"),
    ] {
        let found = read(&set, &at(path)).unwrap();
        let shown = ["title", "price", "currency", "was"].map(|name| found[name].as_str().unwrap_or("?"));
        assert_eq!((shown, &found["news"]), ([title, price, currency, ""], &1.into()), "{path}: {found:#}");
    }
    for (path, class) in [
        ("/none", "NoPrice"),
        ("/lie", "NoPrice"),
        ("/deep", "NoPrice"),
        ("/missing", "HttpError"),
        ("/away", "Redirect"),
    ] {
        assert_eq!(read(&set, &at(path)).unwrap_err(), class, "{path}");
    }
    for (words, wanted) in [
        (format!("how much is {}?", at("/lamp")), "Desk lamp, green costs 49.90 EUR."),
        (format!("quanto costa {}", at("/lamp")), "Desk lamp, green costa 49.90 EUR."),
        (format!("is the price of {} below 40", at("/lamp")), "That is not below what you said."),
        (format!("tieni d'occhio il prezzo di {}", at("/lamp")), "ogni mattina alle 8 dimmi il prezzo di"),
    ] {
        let told = set.ask(&words);
        assert!(told.contains(wanted), "{words}: {told}");
    }
    let (code, refused) = set.run("price_watch", &[&format!("url={}", at("/lamp")), "seen=1.00 EUR"]);
    assert!(code != 0 && refused["error"]["rule"] == "arguments.reserved", "{refused:#}");
    set.verify();
}

#[test]
fn price_at_a_set_time_is_told_and_one_above_the_limit_is_not() {
    let world = World::start();
    let set = world.set();
    let url = format!("http://site.example:{}/lamp", world.http);
    for words in [
        format!("every morning at 8 tell me the price of {url} if it drops below 40"),
        format!("ogni mattina alle 8 dimmi il prezzo di {url}"),
    ] {
        let planned = set.ask(&words);
        assert!(planned.contains("8:00"), "{words}: {planned}");
    }
    assert_eq!(set.json(&["schedule", "run-now", "1"]).0, 0);
    assert_eq!(set.json(&["schedule", "run-now", "2"]).0, 0);
    let mut heard = String::new();
    until("the price of the morning", std::time::Duration::from_secs(60), || {
        heard.push_str(&set.ask("hello"));
        heard.contains("costa 49.90 EUR").then_some(())
    });
    assert!(!heard.contains("costs 49.90 EUR"), "what lies above the limit is kept: {heard}");
    set.verify();
}

#[test]
fn what_was_told_of_a_price_is_not_told_again() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/prices.py");
    let output = Command::new("/usr/bin/python3").args(["-I", "-B", script]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(told["differ"], Value::Array(Vec::new()), "{told:#}");
    assert!(told["compared"].as_u64() > Some(20), "{told:#}");
}
