//! Tests the words that people read of cadences and moments.

use jiff::civil::date;

use super::*;

/// Tuesday, 24 November 2026, at 10:00.
fn now() -> DateTime {
    date(2026, 11, 24).at(10, 0, 0, 0)
}

fn both(cadence: &Cadence) -> (String, String) {
    (cadence.told(Language::English, now()), cadence.told(Language::Italian, now()))
}

#[test]
fn moment_is_named_by_how_near_it_is() {
    for (at, english, italian) in [
        (date(2026, 11, 24).at(17, 20, 0, 0), "today at 17:20", "oggi alle 17:20"),
        (date(2026, 11, 24).at(1, 0, 0, 0), "today at 1:00", "oggi all'1:00"),
        (date(2026, 11, 25).at(9, 0, 0, 0), "tomorrow at 9:00", "domani alle 9:00"),
        (date(2026, 11, 23).at(9, 0, 0, 0), "yesterday at 9:00", "ieri alle 9:00"),
        (date(2026, 11, 27).at(18, 0, 0, 0), "on Friday at 18:00", "venerdì alle 18:00"),
        (date(2026, 11, 29).at(0, 0, 0, 0), "on Sunday at 0:00", "domenica alle 0:00"),
        (date(2026, 11, 30).at(18, 0, 0, 0), "on Monday at 18:00", "lunedì alle 18:00"),
        (date(2026, 12, 1).at(18, 0, 0, 0), "on 1 December at 18:00", "il primo dicembre alle 18:00"),
        (date(2026, 12, 8).at(18, 0, 30, 0), "on 8 December at 18:00:30", "l'8 dicembre alle 18:00:30"),
        (date(2027, 3, 3).at(9, 0, 0, 0), "on 3 March 2027 at 9:00", "il 3 marzo 2027 alle 9:00"),
        (date(2026, 3, 11).at(9, 5, 0, 0), "on 11 March at 9:05", "l'11 marzo alle 9:05"),
    ] {
        assert_eq!(moment(at, now(), Language::English), english);
        assert_eq!(moment(at, now(), Language::Italian), italian);
        assert_eq!(both(&Cadence::Once(at)), (english.to_owned(), italian.to_owned()));
    }
}

#[test]
fn cron_is_told_as_people_say_it() {
    for (cron, english, italian) in [
        ("30 7 * * 1", "every Monday at 7:30", "ogni lunedì alle 7:30"),
        ("0 8 * * *", "every day at 8:00", "ogni giorno alle 8:00"),
        ("0 8,20 * * *", "every day at 8:00 and 20:00", "ogni giorno alle 8:00 e alle 20:00"),
        ("0 1 * * 0", "every Sunday at 1:00", "ogni domenica all'1:00"),
        ("0 8 * * 1-5", "every weekday at 8:00", "dal lunedì al venerdì alle 8:00"),
        ("0 8 * * 1,4", "every Monday and Thursday at 8:00", "ogni lunedì e giovedì alle 8:00"),
        ("0 8 * * 0,6", "every Saturday and Sunday at 8:00", "ogni sabato e domenica alle 8:00"),
        ("0 8 1-31 * 0-6", "every day at 8:00", "ogni giorno alle 8:00"),
        ("0 9 1 * *", "every month on the 1st at 9:00", "ogni mese il primo alle 9:00"),
        ("0 9 8,22 * *", "every month on the 8th and 22nd at 9:00", "ogni mese l'8 e il 22 alle 9:00"),
        ("0 9 5 5 *", "every year on 5 May at 9:00", "ogni anno il 5 maggio alle 9:00"),
        (
            "0 9 1 1,4,7,10 *",
            "every year on 1 January, 1 April, 1 July and 1 October at 9:00",
            "ogni anno il primo gennaio, il primo aprile, il primo luglio e il primo ottobre alle 9:00",
        ),
        ("* * * * *", "every minute", "ogni minuto"),
        ("*/15 * * * *", "every 15 minutes", "ogni 15 minuti"),
        ("0 * * * *", "every hour", "ogni ora"),
        ("15 * * * *", "every hour at 15 minutes past", "ogni ora al minuto 15"),
        ("0 */4 * * *", "every 4 hours", "ogni 4 ore"),
        ("0 */12 * * *", "every day at 0:00 and 12:00", "ogni giorno alle 0:00 e alle 12:00"),
        ("30 7 1-7 * 1", "by the rule 30 7 1-7 * 1", "secondo la regola 30 7 1-7 * 1"),
        ("*/7 * * * *", "by the rule */7 * * * *", "secondo la regola */7 * * * *"),
        ("0 9 * 1 *", "by the rule 0 9 * 1 *", "secondo la regola 0 9 * 1 *"),
        ("nonsense\n", "by the rule nonsense", "secondo la regola nonsense"),
    ] {
        assert_eq!(both(&Cadence::Cron(cron.to_owned())), (english.to_owned(), italian.to_owned()), "{cron}");
    }
}

#[test]
fn rule_is_told_as_people_say_it() {
    let start = date(2026, 11, 27).at(18, 0, 0, 0);
    for (rrule, english, italian) in [
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
            "every two weeks on Friday at 18:00",
            "ogni due settimane il venerdì alle 18:00",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=12;BYDAY=SU,WE",
            "every 12 weeks on Wednesday and Sunday at 18:00",
            "ogni 12 settimane il mercoledì e la domenica alle 18:00",
        ),
        ("FREQ=DAILY;INTERVAL=3", "every three days at 18:00", "ogni tre giorni alle 18:00"),
        (
            "FREQ=DAILY;COUNT=10",
            "every day at 18:00, from 27 November, 10 times",
            "ogni giorno alle 18:00, dal 27 novembre, 10 volte",
        ),
        (
            "FREQ=DAILY;UNTIL=20261208T235959",
            "every day at 18:00, from 27 November, until 8 December",
            "ogni giorno alle 18:00, dal 27 novembre, fino all'8 dicembre",
        ),
        (
            "FREQ=DAILY;UNTIL=20270302T120000",
            "every day at 18:00, from 27 November, until 1 March 2027",
            "ogni giorno alle 18:00, dal 27 novembre, fino al primo marzo 2027",
        ),
        (
            "FREQ=HOURLY;INTERVAL=5;UNTIL=20261208T120000",
            "every 5 hours, from 27 November, until 8 December at 12:00",
            "ogni 5 ore, dal 27 novembre, fino all'8 dicembre alle 12:00",
        ),
        (
            "FREQ=MINUTELY;INTERVAL=90;UNTIL=20261208T115959",
            "every 90 minutes, from 27 November, until 8 December at 12:00",
            "ogni 90 minuti, dal 27 novembre, fino all'8 dicembre alle 12:00",
        ),
        (
            "FREQ=HOURLY;UNTIL=20261130T235959",
            "every hour, from 27 November, until 30 November",
            "ogni ora, dal 27 novembre, fino al 30 novembre",
        ),
    ] {
        let rule = Cadence::Rule { start, rrule: rrule.to_owned() };
        assert_eq!(both(&rule), (english.to_owned(), italian.to_owned()), "{rrule}");
    }
}

#[test]
fn rule_of_months_and_years_is_told_with_its_day() {
    let start = date(2026, 11, 27).at(18, 0, 0, 0);
    for (rrule, english, italian) in [
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "every month on the last day at 18:00", "ogni mese l'ultimo giorno alle 18:00"),
        ("FREQ=MONTHLY;BYDAY=1MO", "every month on the first Monday at 18:00", "ogni mese il primo lunedì alle 18:00"),
        (
            "FREQ=MONTHLY;INTERVAL=2;BYDAY=-1SU",
            "every two months on the last Sunday at 18:00",
            "ogni due mesi l'ultima domenica alle 18:00",
        ),
        (
            "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
            "every year on the fourth Thursday of November at 18:00",
            "ogni anno il quarto giovedì di novembre alle 18:00",
        ),
        (
            "FREQ=YEARLY;INTERVAL=2",
            "every two years on 27 November at 18:00",
            "ogni due anni il 27 novembre alle 18:00",
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
            "by the rule FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
            "secondo la regola FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
        ),
    ] {
        let rule = Cadence::Rule { start, rrule: rrule.to_owned() };
        assert_eq!(both(&rule), (english.to_owned(), italian.to_owned()), "{rrule}");
    }
}

#[test]
fn beginning_that_is_far_is_told() {
    let later = Cadence::Rule { start: date(2027, 3, 8).at(8, 0, 0, 0), rrule: "FREQ=DAILY".to_owned() };
    assert_eq!(
        both(&later),
        ("every day at 8:00, from 8 March 2027".to_owned(), "ogni giorno alle 8:00, dall'8 marzo 2027".to_owned())
    );
}
