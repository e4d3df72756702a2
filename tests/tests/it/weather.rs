//! The weather in a running set: a counterpart of the service behind TLS, at its own names and port. Only the name of the town leaves
//! the machine, and what nobody has typed asks first.

/// The service is asked at the port of HTTPS, which root alone may listen at.
mod as_root {
    use metnos_tests::instance::{Instance, Plan};
    use metnos_tests::outside::Outside;
    use serde_json::{Value, json};

    const NAMES: [&str; 2] = ["api.open-meteo.com", "geocoding-api.open-meteo.com"];

    fn world() -> Outside {
        Outside::start("calendar.py", &NAMES)
    }

    fn set_of(world: &Outside) -> Instance {
        let set = Plan::new().config(&world.config(&[world.address("weather")])).start();
        set.is_grown();
        set
    }

    #[test]
    fn a_household_asks_for_the_weather_in_both_languages() {
        let mut world = world();
        let set = set_of(&world);
        let heard = |words: &str| {
            let output = set.ctl(&["ask", words]);
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        let none = heard("what is the weather like?");
        assert!(none.contains("For which town?"), "{none}");
        for (words, wanted) in [
            (
                "what is the weather in Milan",
                &["Milan, Lombardy, Italy: now overcast, 7 \u{b0}C.", "mostly clear, -2 to 9 \u{b0}C"][..],
            ),
            (
                "che tempo fa a Trieste",
                &["Trieste, Friuli, Italia: ora coperto, 7 \u{b0}C.", "per lo pi\u{f9} sereno, da -2 a 9 \u{b0}C"],
            ),
            ("will it rain tomorrow in Milan", &["rain is likely (85 %), rain"]),
            ("pioverà domani a Milano?", &["probabile pioggia (85 %), pioggia"]),
            ("do I need an umbrella today in Milan", &["no rain to speak of (5 %)"]),
            ("is it windy in Trieste tomorrow", &["windy, up to 42 km/h"]),
            ("will it rain in Milan tomorrow evening", &["evening: rain is likely"]),
            ("will it rain in Milan tomorrow morning", &["morning: no rain to speak of"]),
            ("che tempo fa ad Atlantide", &["Non conosco una citt\u{e0} che si chiami Atlantide."]),
        ] {
            let told = heard(words);
            for part in wanted {
                assert!(told.contains(part), "{words}: {told}");
            }
        }
        // Where the household is, is the owner's own line; from then on nobody has to say it.
        let user = std::fs::read_to_string(set.workspace("USER.md")).unwrap();
        assert!(user.contains("- Place:\n"), "{user}");
        std::fs::write(set.workspace("USER.md"), user.replace("- Place:\n", "- Place: Trieste\n")).unwrap();
        let _before = world.ask(&json!({ "seen": true }));
        let told = set.ask("che tempo far\u{e0} domani?");
        assert!(told.contains("Trieste, Friuli, Italia") && told.contains("pioggia"), "{told}");
        let seen = world.ask(&json!({ "seen": true }));
        let seen: Vec<&str> = seen.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(seen.len(), 2, "one look at the map and one forecast: {seen:?}");
        assert!(seen[0].starts_with("geocoding-api.open-meteo.com/v1/search?name=Trieste&"), "{seen:?}");
        // Nobody else says where the household is.
        let (_, refused) = set.run("weather_get", &["home=Roma"]);
        assert_eq!(refused["error"]["rule"], "arguments.reserved", "{refused:#}");
        // Every morning, by itself.
        let planned = set.ask("every morning at 7 tell me the weather in Milan");
        assert!(planned.contains("07:00") || planned.contains("7:00"), "{planned}");
        assert_eq!(set.json(&["schedule", "run-now", "1"]).0, 0);
        metnos_tests::until("the weather of the morning", std::time::Duration::from_secs(60), || {
            set.ask("hello").contains("Milan, Lombardy, Italy").then_some(())
        });
        set.verify();
    }

    #[test]
    fn a_weather_service_that_lies_is_told_as_one_and_costs_no_strike() {
        let world = world();
        let set = set_of(&world);
        for town in ["Liar", "Liars", "Liarx", "Liary", "Liarn", "Liarh", "Liarf", "Liard"] {
            let (code, answer) = set.run("weather_get", &[&format!("place={town}")]);
            let class = answer["result"]["error"]["class"].as_str().unwrap_or_default();
            assert!(code == 1 && ["ServerError", "TooFar"].contains(&class), "{town}: {answer:#}");
        }
        let (_, list) = set.json(&["executor", "list"]);
        let row = list.as_array().unwrap().iter().find(|row| row["name"] == "weather_get").unwrap();
        assert_eq!(row["state"], "active", "{row:#}");
        set.verify();
    }
}
