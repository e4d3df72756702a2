//! The filter, run instruction by instruction as the kernel would.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

/// What the kernel hands a filter.
struct Data {
    number: u32,
    architecture: u32,
    arguments: [u64; 6],
}

/// Runs a program as the kernel does, for the six instructions we use.
fn run(program: &[sock_filter], data: &Data) -> u32 {
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let it = &program[at];
        at += 1;
        match it.code {
            LOAD => {
                accumulator = match it.k {
                    NUMBER_AT => data.number,
                    ARCHITECTURE_AT => data.architecture,
                    place => {
                        assert_eq!((place - ARGUMENTS_AT) % 8, 0, "the low half of an argument");
                        let argument = data.arguments[usize::try_from((place - ARGUMENTS_AT) / 8).unwrap()];
                        u32::try_from(argument & 0xffff_ffff).unwrap()
                    }
                }
            }
            AND => accumulator &= it.k,
            JUMP_EQ => at += usize::from(if accumulator == it.k { it.jt } else { it.jf }),
            JUMP_GE => at += usize::from(if accumulator >= it.k { it.jt } else { it.jf }),
            JUMP => at += usize::try_from(it.k).unwrap(),
            RETURN => return it.k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

const EOPNOTSUPP: u32 = libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP.unsigned_abs();

fn number(name: &str) -> u32 {
    super::number(name).unwrap().unwrap()
}

fn answer(name: &str, arguments: [u64; 6]) -> u32 {
    at(Stage::Sealed, name, arguments)
}

fn at(stage: Stage, name: &str, arguments: [u64; 6]) -> u32 {
    let number = number(name);
    run(&Filter::load(stage).unwrap().program, &Data { number, architecture: ARCHITECTURE, arguments })
}

#[test]
fn the_list_is_a_program_the_kernel_takes() {
    for stage in [Stage::Sealed, Stage::Starting] {
        let filter = Filter::load(stage).unwrap();
        assert!(filter.program.len() < MAX_INSTRUCTIONS);
        assert_eq!(filter.digest(), Filter::load(stage).unwrap().digest(), "the same list is the same program");
        assert_eq!(filter.bytes().len(), filter.program.len() * 8);
    }
}

#[test]
fn allowed_calls_work_and_refused_ones_are_not_permitted() {
    for name in ["read", "write", "openat", "futex", "exit_group", "getrandom"] {
        assert_eq!(answer(name, [0; 6]), ALLOW, "{name}");
    }
    for name in
        ["socket", "connect", "execve", "ptrace", "mount", "unshare", "io_uring_setup", "bpf", "memfd_create", "keyctl"]
    {
        assert_eq!(answer(name, [0; 6]), EPERM, "{name}");
    }
}

#[test]
fn unlisted_syscall_answers_enosys() {
    let program = Filter::load(Stage::Sealed).unwrap().program;
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap();
    for number in [clone3, 999, 0x3fff_ffff] {
        assert_eq!(run(&program, &Data { number, architecture: ARCHITECTURE, arguments: [0; 6] }), ENOSYS, "{number}");
    }
}

#[test]
fn another_architecture_and_x32_kill() {
    let program = Filter::load(Stage::Sealed).unwrap().program;
    for (number, architecture) in
        [(0, 0x4000_0003), (X32, ARCHITECTURE), (X32 + 1, ARCHITECTURE), (u32::MAX, ARCHITECTURE)]
    {
        let data = Data { number, architecture, arguments: [0; 6] };
        assert_eq!(run(&program, &data), libc::SECCOMP_RET_KILL_PROCESS, "{number:#x} {architecture:#x}");
    }
}

#[test]
fn no_page_becomes_code_but_a_files_and_after_the_seal_none() {
    const READ_WRITE: u64 = 3;
    const READ_CODE: u64 = 5;
    const PRIVATE: u64 = 2;
    const ANONYMOUS: u64 = 0x22;
    assert_eq!(answer("mmap", [0, 4096, READ_WRITE, ANONYMOUS, 0, 0]), ALLOW);
    assert_eq!(at(Stage::Starting, "mmap", [0, 4096, READ_CODE, PRIVATE, 5, 0]), ALLOW);
    for stage in [Stage::Starting, Stage::Sealed] {
        assert_eq!(at(stage, "mmap", [0, 4096, READ_CODE, ANONYMOUS, 0, 0]), EPERM);
        assert_eq!(at(stage, "mmap", [0, 4096, 7, PRIVATE, 5, 0]), EPERM);
    }
    // The interpreter is loaded by then.
    assert_eq!(answer("mmap", [0, 4096, READ_CODE, PRIVATE, 5, 0]), EPERM);
    assert_eq!(answer("mprotect", [0, 4096, 3, 0, 0, 0]), ALLOW);
    for protection in [4, 5, 7] {
        assert_eq!(answer("mprotect", [0, 4096, protection, 0, 0, 0]), EPERM);
    }
}

#[test]
fn unsealed_filter_allows_only_threads_and_executing_the_interpreter() {
    assert_eq!(answer("clone", [0x3d_0f00, 0, 0, 0, 0, 0]), ALLOW);
    for flags in [libc::SIGCHLD.unsigned_abs().into(), 0x3d_0f00 | 0x1000_0000, 0x0001_0000, 0] {
        assert_eq!(answer("clone", [flags, 0, 0, 0, 0, 0]), EPERM, "{flags:#x}");
    }
    let program = u64::try_from(crate::plan::PROGRAM_FD).unwrap();
    assert_eq!(at(Stage::Starting, "execveat", [program, 0, 0, 0, 0x1000, 0]), ALLOW);
    assert_eq!(at(Stage::Starting, "execveat", [3, 0, 0, 0, 0x1000, 0]), EPERM);
    assert_eq!(at(Stage::Starting, "execveat", [program, 0, 0, 0, 0, 0]), EPERM);
    assert_eq!(answer("execveat", [program, 0, 0, 0, 0x1000, 0]), EPERM);
    for name in ["seccomp", "landlock_restrict_self", "capset", "recvmsg"] {
        assert_eq!(
            (at(Stage::Starting, name, [1, 0, 0, 0, 0, 0]), answer(name, [1, 0, 0, 0, 0, 0])),
            (ALLOW, EPERM),
            "{name}"
        );
    }
}

#[test]
fn a_high_half_does_not_smuggle_a_terminal_call_past_the_check() {
    const TIOCSTI: u64 = 0x5412;
    assert_eq!(answer("ioctl", [0, 0x5401, 0, 0, 0, 0]), ALLOW);
    for call in [TIOCSTI, TIOCSTI | 1 << 32, 0x541c] {
        assert_eq!(answer("ioctl", [0, call, 0, 0, 0, 0]), EPERM, "{call:#x}");
    }
}

#[test]
fn no_file_is_made_with_a_set_id_bit_and_no_mode_changed() {
    const MAKE: u64 = 0o101;
    const UNNAMED: u64 = 0o20_200_000 | 1;
    // A mode that is no mode: nothing is made.
    assert_eq!(answer("openat", [0, 0, 0, 0o7777, 0, 0]), ALLOW);
    for flags in [MAKE, UNNAMED] {
        assert_eq!(answer("openat", [0, 0, flags, 0o777, 0, 0]), ALLOW, "{flags:#o}");
        for mode in [0o4755, 0o2755, 0o1777, 0o6000, 0o4755 | 1 << 32] {
            assert_eq!(answer("openat", [0, 0, flags, mode, 0, 0]), EPERM, "{flags:#o} {mode:#o}");
        }
    }
    for mode in [0o4700, 0o2700, 0o1777] {
        assert_eq!(answer("mkdirat", [0, 0, mode, 0, 0, 0]), EPERM, "{mode:#o}");
    }
    assert_eq!(answer("mkdirat", [0, 0, 0o777, 0, 0, 0]), ALLOW);
    for name in ["fchmod", "fchmodat", "fchown", "fchownat", "setxattr", "linkat", "symlinkat", "mknodat"] {
        assert_eq!(answer(name, [0; 6]), EPERM, "{name}");
    }
    assert_eq!(answer("openat2", [0; 6]), ENOSYS);
    assert_eq!(answer("fallocate", [0; 6]), EOPNOTSUPP);
    for (flags, says) in [(0, ALLOW), (1, ALLOW), (2, EPERM), (4, EPERM), (5, EPERM), (1 | 1 << 33, ALLOW)] {
        assert_eq!(answer("renameat2", [0, 0, 0, 0, flags, 0]), says, "{flags}");
    }
    for (mask, says) in [(0, EPERM), (0o22, EPERM), (0o20, EPERM), (0o27, ALLOW), (0o77, ALLOW)] {
        assert_eq!(answer("umask", [mask, 0, 0, 0, 0, 0]), says, "{mask:#o}");
    }
}

#[test]
fn attributes_are_answered_as_not_supported() {
    for name in ["getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr"] {
        assert_eq!(answer(name, [0; 6]), EOPNOTSUPP, "{name}");
    }
}

#[test]
fn a_list_that_does_not_hold_together_is_refused() {
    let list = |allow: &str, check: &str| format!("allow = [{allow}]\ncheck = [{check}]\nrefuse = []\nstart = []\n");
    let call = r#"{ why = "x", calls = ["read"] }"#;
    assert!(read(&list(call, ""), Stage::Sealed).is_ok());
    let opened = |start: &str| list(call, "").replace("start = []", &format!("start = [{start}]"));
    assert!(read(&opened(r#"{ why = "x", calls = ["read"], alternatives = [] }"#), Stage::Starting).is_ok());
    assert!(read(&opened(r#"{ why = "x", calls = ["write"], alternatives = [] }"#), Stage::Sealed).is_err());
    assert!(read(&opened(r#"{ why = " ", calls = ["read"], alternatives = [] }"#), Stage::Sealed).is_err());
    for bad in [
        list(r#"{ why = " ", calls = ["read"] }"#, ""),
        list(r#"{ why = "x", calls = ["reed"] }"#, ""),
        list(&format!("{call}, {call}"), ""),
        list(call, r#"{ why = "x", call = "mmap", alternatives = [] }"#),
        list(call, r#"{ why = "x", call = "mmap", alternatives = [[]] }"#),
        list(call, r#"{ why = "x", call = "mmap", alternatives = [["arg6 & 0x1 == 0x1"]] }"#),
        list(call, r#"{ why = "x", call = "mmap", alternatives = [["arg0 & 0x1 == 0x2"]] }"#),
        list(call, r#"{ why = "x", call = "mmap", alternatives = [["arg0 == 0x2"]] }"#),
    ] {
        assert!(read(&bad, Stage::Sealed).is_err(), "{bad}");
    }
}

#[test]
fn the_zygote_executes_nothing_and_is_otherwise_as_it_was() {
    let program = Filter::no_exec().program;
    let of = |number| run(&program, &Data { number, architecture: ARCHITECTURE, arguments: [0; 6] });
    for number in [libc::SYS_execve, libc::SYS_execveat] {
        assert_eq!(of(u32::try_from(number).unwrap()), EPERM);
    }
    for number in [libc::SYS_clone, libc::SYS_read, libc::SYS_move_mount] {
        assert_eq!(of(u32::try_from(number).unwrap()), ALLOW);
    }
    let data = Data { number: 0, architecture: 0x4000_0003, arguments: [0; 6] };
    assert_eq!(run(&program, &data), libc::SECCOMP_RET_KILL_PROCESS);
}

proptest! {
    #[test]
    fn each_number_meets_the_verdict_of_the_list(number in 0_u32..600) {
        for stage in [Stage::Sealed, Stage::Starting] {
            let verdicts = read(LIST, stage).unwrap();
            let data = Data { number, architecture: ARCHITECTURE, arguments: [0; 6] };
            let came = run(&Filter::load(stage).unwrap().program, &data);
            match verdicts.get(&number) {
                None => prop_assert_eq!(came, ENOSYS),
                Some(Verdict::Allow) => prop_assert_eq!(came, ALLOW),
                Some(Verdict::Refuse(by)) => {
                    prop_assert_eq!(came, libc::SECCOMP_RET_ERRNO | by.errno().unsigned_abs());
                }
                Some(Verdict::When(_)) => prop_assert!(came == ALLOW || came == EPERM),
            }
        }
    }

    #[test]
    fn every_call_ends_in_a_verdict(number in any::<u32>(), architecture in prop_oneof![Just(ARCHITECTURE), any::<u32>()], arguments in any::<[u64; 6]>()) {
        let verdict = run(&Filter::load(Stage::Sealed).unwrap().program, &Data { number, architecture, arguments });
        prop_assert!([ALLOW, EPERM, ENOSYS, EOPNOTSUPP, libc::SECCOMP_RET_KILL_PROCESS].contains(&verdict));
        if architecture != ARCHITECTURE || number >= X32 {
            prop_assert_eq!(verdict, libc::SECCOMP_RET_KILL_PROCESS);
        }
    }

    #[test]
    fn a_checked_call_is_allowed_exactly_when_an_alternative_holds(arguments in any::<[u64; 6]>(), pick in 0_usize..8) {
        let verdicts = read(LIST, Stage::Sealed).unwrap();
        let checked: Vec<_> = verdicts.iter().filter_map(|(number, verdict)| match verdict {
            Verdict::When(alternatives) => Some((*number, alternatives)),
            Verdict::Allow | Verdict::Refuse(_) => None,
        }).collect();
        let (number, alternatives) = checked[pick % checked.len()];
        let holds = alternatives.iter().any(|all| all.iter().all(|one| {
            u32::try_from(arguments[one.argument as usize] & 0xffff_ffff).unwrap() & one.mask == one.value
        }));
        let verdict = run(&Filter::load(Stage::Sealed).unwrap().program, &Data { number, architecture: ARCHITECTURE, arguments });
        prop_assert_eq!(verdict, if holds { ALLOW } else { EPERM });
    }
}

#[test]
fn program_filter_adds_only_fork_and_exec() {
    const FORK: u64 = 0x0120_0011;
    const SPAWN: u64 = 0x4111;
    const THREAD: u64 = 0x003d_0f00;
    const PRIVATE: u64 = 2;
    for stage in [Stage::Starting, Stage::Sealed] {
        let program = Filter::load_for(stage, Runs::Programs).unwrap().program;
        let says = |name: &str, arguments: [u64; 6]| {
            run(&program, &Data { number: number(name), architecture: ARCHITECTURE, arguments })
        };
        assert_eq!(says("execve", [1, 2, 3, 0, 0, 0]), ALLOW);
        for flags in [FORK, SPAWN, THREAD] {
            assert_eq!(says("clone", [flags, 0, 0, 0, 0, 0]), ALLOW, "{flags:#x}");
        }
        // A namespace, a table in common, the parent in common, nothing at all.
        for more in [0x1000_0000, 0x2000_0000, 0x0002_0000, 0x4000_0000, 0x400, 0x8000] {
            assert_eq!(says("clone", [FORK | more, 0, 0, 0, 0, 0]), EPERM, "{more:#x}");
            assert_eq!(says("clone", [SPAWN | more, 0, 0, 0, 0, 0]), EPERM, "{more:#x}");
        }
        assert_eq!(says("clone", [17, 0, 0, 0, 0, 0]), EPERM);
        assert_eq!(says("mmap", [0, 4096, 5, PRIVATE, 5, 0]), ALLOW, "a file as code");
        for (rights, flags) in [(7, PRIVATE), (6, PRIVATE), (5, 0x22), (7, 0x21)] {
            assert_eq!(says("mmap", [0, 4096, rights, flags, 5, 0]), EPERM, "{rights} {flags:#x}");
        }
        assert_eq!(says("mprotect", [0, 4096, 5, 0, 0, 0]), EPERM);
        for name in
            ["socket", "connect", "ptrace", "kill", "tkill", "unshare", "memfd_create", "setsid", "setuid", "mount"]
        {
            assert_eq!(says(name, [0; 6]), EPERM, "{name}");
        }
        let beyond = Data { number: 435, architecture: ARCHITECTURE, arguments: [0; 6] };
        assert_eq!(run(&program, &beyond), ENOSYS, "clone3");
    }
    // By a descriptor nothing is executed but the interpreter, once, before the seal.
    let sealed = Filter::load_for(Stage::Sealed, Runs::Programs).unwrap().program;
    let by_descriptor =
        Data { number: number("execveat"), architecture: ARCHITECTURE, arguments: [200, 0, 0, 0, 0x1000, 0] };
    assert_eq!(run(&sealed, &by_descriptor), EPERM);
}

#[test]
fn the_second_list_opens_only_what_the_first_one_names_and_says_why() {
    let open = |text: &str| {
        let mut verdicts = read(LIST, Stage::Sealed).unwrap();
        open_more(&mut verdicts, text)
    };
    assert!(open(PROGRAMS).is_ok());
    for (text, part) in [
        ("[[open]]\nwhy = \"\"\ncalls = [\"execve\"]\nalternatives = []\n", "no reason"),
        ("[[open]]\nwhy = \"x\"\ncalls = [\"no_such_call\"]\nalternatives = []\n", "no known system call"),
        ("[[open]]\nwhy = \"x\"\ncalls = [\"clone3\"]\nalternatives = []\n", "not named otherwise"),
        ("[[open]]\nwhy = \"x\"\ncalls = [\"execve\"]\nalternatives = [[]]\n", "without a condition"),
        ("[[allow]]\nwhy = \"x\"\ncalls = [\"execve\"]\n", "open"),
    ] {
        let error = open(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}
