//! Why this machine gives no user namespace, and what its owner can do: reported when sandboxd cannot start for want of one. Each
//! way of refusing them looks different to the caller; here they are known by their names.

/// Where the profile belongs that gives sandboxd user namespaces.
const PROFILE: &str = "/etc/apparmor.d/metnos-sandboxd";
/// The program that the profile is written for.
const PACKAGED: &str = "/usr/lib/metnos/metnos-sandboxd";

/// What to do, in a sentence, for the sandboxd at `program`. `read` gives the trimmed text of a file of the kernel's, if it is there.
pub fn remedy(read: impl Fn(&str) -> Option<String>, program: &str) -> String {
    let is = |path: &str, value: &str| read(path).is_some_and(|text| text == value);
    let label = read("/proc/self/attr/apparmor/current").unwrap_or_default();
    // Ubuntu's kernel gives one to everybody, and with it a profile that takes every right in it away.
    let nobodys = label == "unconfined" || label.starts_with("unprivileged_userns ");
    if is("/proc/sys/user/max_user_namespaces", "0") {
        "They are switched off: as root, `sysctl -w user.max_user_namespaces=15000`".to_owned()
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "Ordinary users may not make them: as root, `sysctl -w kernel.unprivileged_userns_clone=1`".to_owned()
    } else if nobodys && is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        let path = if program == PACKAGED {
            String::new()
        } else {
            format!(", write {program} into it in the place of {PACKAGED}")
        };
        format!(
            "AppArmor restricts them to programs with a profile, and {program} has none: as root, copy \
             systemd/apparmor.d/metnos-sandboxd of Metnos to {PROFILE}{path}, and load it with `apparmor_parser -r {PROFILE}`"
        )
    } else if !label.is_empty() && !nobodys && !label.ends_with("(unconfined)") {
        format!(
            "{program} is confined by the AppArmor profile `{label}`, which takes them away: give it the rule `userns,`, or put \
             systemd/apparmor.d/metnos-sandboxd of Metnos in its place"
        )
    } else {
        "Something on this machine takes them away that has no name here: a container's filter of system calls, or a security \
         module (the kernel's log may tell)"
            .to_owned()
    }
}

/// The text of a file of the kernel's, as [`remedy`] wants it.
pub fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The path of this very program.
pub fn program() -> String {
    std::fs::read_link("/proc/self/exe").map_or_else(|_| PACKAGED.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: &str = "/proc/self/attr/apparmor/current";
    const RESTRICTS: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    const MOST: &str = "/proc/sys/user/max_user_namespaces";
    const CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";

    fn told(files: &[(&str, &str)], program: &str) -> String {
        remedy(|path| files.iter().find(|(key, _)| *key == path).map(|(_, value)| (*value).to_owned()), program)
    }

    #[test]
    fn each_way_of_refusing_has_its_own_remedy() {
        let ubuntu = [(MOST, "9"), (CLONE, "1"), (RESTRICTS, "1"), (LABEL, "unprivileged_userns (enforce)")];
        let load = "`apparmor_parser -r /etc/apparmor.d/metnos-sandboxd`";
        assert!(told(&ubuntu, PACKAGED).contains(load));
        assert!(!told(&ubuntu, PACKAGED).contains("in the place of"));
        assert!(told(&ubuntu, "/opt/metnos-sandboxd").contains("write /opt/metnos-sandboxd into it"));
        // Where Ubuntu's own profile is not loaded, the label stays.
        assert!(told(&[(MOST, "9"), (RESTRICTS, "1"), (LABEL, "unconfined")], PACKAGED).contains(load));
        let confined = told(&[(MOST, "9"), (LABEL, "mine (enforce)")], PACKAGED);
        assert!(confined.contains("`mine (enforce)`") && confined.contains("`userns,`"));
        assert!(told(&[(MOST, "0")], PACKAGED).contains("user.max_user_namespaces"));
        assert!(told(&[(MOST, "9"), (CLONE, "0")], PACKAGED).contains("kernel.unprivileged_userns_clone=1"));
    }

    #[test]
    fn a_profile_that_takes_nothing_away_is_not_blamed() {
        for label in ["metnos-sandboxd (unconfined)", "unconfined"] {
            assert!(
                told(&[(MOST, "9"), (RESTRICTS, "0"), (LABEL, label)], PACKAGED).contains("no name here"),
                "{label}"
            );
        }
        assert!(told(&[], PACKAGED).contains("no name here"));
    }
}
