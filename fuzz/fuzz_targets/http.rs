//! What any client may say before anybody knows who it is: the head of a request, an address, how far it has heard, and
//! a conversation. Whatever it is, nothing stops the door, and no other name than the loopback's leads here.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metnos_gatewayd::http::chat;
use metnos_gatewayd::http::request::{guard::HostNames, route};
use metnos_gatewayd::http::turns::record::ReadPosition;
use metnos_proto::json::{Limits, parse_object};

fuzz_target!(|lines: Vec<(u8, String)>| {
    let mut request = http::Request::builder();
    let mut path = "/".to_owned();
    for (which, text) in &lines {
        let name = ["host", "origin", "sec-fetch-site", "authorization", "cookie"].get(usize::from(*which));
        match name {
            Some(name) => request = request.header(*name, text),
            None => path.clone_from(text),
        }
        if let Some(heard) = ReadPosition::parse(text) {
            assert_eq!(&heard.to_string(), text);
        }
        if let Ok(body) = parse_object(text.as_bytes(), Limits { max_bytes: 1 << 16, max_depth: 16 }) {
            let _ = chat::read(&body);
        }
        for method in [http::Method::GET, http::Method::POST, http::Method::DELETE] {
            let _ = route::find(&method, text);
        }
    }
    let Ok(request) = request.uri(path.as_str()).body(()) else { return };
    let names = HostNames::new(42_618);
    let ours = ["127.0.0.1:42618", "localhost:42618", "[::1]:42618"];
    if names.host(request.uri(), request.headers()).is_ok() {
        let host = request.headers()["host"].to_str().expect("a name that was let in is text");
        assert!(ours.contains(&host.to_ascii_lowercase().as_str()), "{host}");
    }
    for page in [false, true] {
        let _ = names.shown(&http::Method::POST, request.headers(), page);
    }
    let _ = names.origin(request.headers());
});
