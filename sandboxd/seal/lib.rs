//! The seal: the part of the host that is not Python. It forks warm children in the zygote, and puts the
//! last layers on a process from inside, once its interpreter is up (design: sandbox §1). It must never
//! return from a seal that is not whole: the process ends instead.
//!
//! It is a module of CPython, loaded by its stable interface, and stands on nothing else: no standard library, no
//! crate. sandboxd's build makes it and carries it.
#![no_std]

mod order;
mod system;

use core::ffi::{CStr, c_int, c_void};

use order::{CANARIES, COVER, KEEP, LANDLOCK, MAX_MOUNTS, MAX_ORDER, Order, PROGRAMS};
use system::{Errno, Fork, Kernel};

/// What the kernel has to be asked for is behind this.
const KERNEL: Kernel = Kernel;

/// The exit code of a process that is not sealed.
const NOT_SEALED: c_int = 70;
/// The descriptors of a warm child: output, channel, report of a failure.
const OUTPUT: c_int = 1;
const ERRORS: c_int = 2;
const CHANNEL: c_int = 3;
const FAULT: c_int = 4;
/// The descriptors that come with an order to fork: `/proc`, channel, output, report; and behind them the control group that
/// the child begins in, where there is one.
const FORK_FDS: usize = 4;
const FORK_FDS_AND_GROUP: usize = 5;

/// `CLONE_NEWUSER`.
const NEW_USER: core::ffi::c_long = 0x1000_0000;

/// Which step failed, and what the kernel said.
struct Failure(&'static CStr, Errno);

type Step<T> = Result<T, Failure>;

trait At<T> {
    fn at(self, step: &'static CStr) -> Step<T>;
}

impl<T> At<T> for Result<T, Errno> {
    fn at(self, step: &'static CStr) -> Step<T> {
        self.map_err(|errno| Failure(step, errno))
    }
}

/// Reports and ends.
fn fail(Failure(step, errno): Failure) -> ! {
    let mut text = [0_u8; 96];
    let mut length = 0;
    let mut put = |bytes: &[u8]| {
        for byte in bytes {
            if let Some(place) = text.get_mut(length) {
                *place = *byte;
                length += 1;
            }
        }
    };
    put(step.to_bytes());
    put(b": errno ");
    let digits = [errno.0 / 100 % 10, errno.0 / 10 % 10, errno.0 % 10];
    for digit in digits {
        put(&[b'0' + u8::try_from(digit).unwrap_or(0)]);
    }
    let _ = KERNEL.write(FAULT, text.get(..length).unwrap_or_default());
    KERNEL.exit(NOT_SEALED)
}

/// The word for a child that has time to take the way of a call once before it is needed, and for one that has none.
const FORK: u8 = b'F';
const FORK_FOR_NOW: u8 = b'N';

/// Forks whenever sandboxd asks over `control`; comes back in each child, empty, and never in the zygote. Whether the
/// child has time to rehearse.
fn serve(control: c_int) -> Step<bool> {
    loop {
        let mut word = [0_u8; 1];
        let mut fds = [-1; FORK_FDS_AND_GROUP];
        let (length, count) = KERNEL.receive(control, &mut word, &mut fds).at(c"hearing sandboxd")?;
        if length == 0 {
            KERNEL.exit(0);
        }
        let [word] = word;
        if !matches!(count, FORK_FDS | FORK_FDS_AND_GROUP) || !matches!(word, FORK | FORK_FOR_NOW) {
            return Err(Failure(c"an order that is none", Errno::INVALID));
        }
        let [proc, channel, output, fault, group] = fds;
        match KERNEL.fork(group) {
            Fork::Child => return become_warm([proc, channel, output, fault]).map(|()| word == FORK),
            Fork::Parent { pid, pidfd } => {
                for fd in fds.into_iter().take(count) {
                    KERNEL.close(fd);
                }
                KERNEL.send(control, &pid.to_le_bytes(), Some(pidfd)).at(c"answering sandboxd")?;
                KERNEL.close(pidfd);
            }
            Fork::Failed(errno) => {
                for fd in fds.into_iter().take(count) {
                    KERNEL.close(fd);
                }
                KERNEL.send(control, &(-i64::from(errno.0)).to_le_bytes(), None).at(c"answering sandboxd")?;
            }
        }
    }
}

/// A child's own world: ids, name, session, `/tmp`, descriptors; nothing may be executed any more.
fn become_warm([proc, channel, output, fault]: [c_int; FORK_FDS]) -> Step<()> {
    // They are put at lower numbers, of which none may be one of them.
    if [channel, output, fault].iter().any(|fd| *fd <= FAULT) {
        return Err(Failure(c"descriptors", Errno::INVALID));
    }
    KERNEL.die_with_parent().at(c"tying itself to sandboxd")?;
    // The files by which ids are mapped belong to root as long as a process is not dumpable.
    KERNEL.dumpable(true).at(c"becoming dumpable")?;
    for (file, text) in [
        (c"self/setgroups", b"deny".as_slice()),
        (c"self/uid_map", b"1000 1000 1\n"),
        (c"self/gid_map", b"1000 1000 1\n"),
        (c"self/oom_score_adj", b"1000"),
    ] {
        KERNEL.write_file(proc, file, text).at(c"mapping ids")?;
    }
    KERNEL.dumpable(false).at(c"becoming not dumpable")?;
    KERNEL.own_session().at(c"starting a session")?;
    KERNEL.name(b"metnos").at(c"naming the machine")?;
    let tmp = KERNEL.memory(c"16777216", c"256", c"0700").at(c"making /tmp")?;
    let place = KERNEL.place(b"/tmp\0").at(c"finding /tmp")?;
    KERNEL.attach(tmp, place).at(c"attaching /tmp")?;
    KERNEL.nothing_executable().at(c"taking the right to execute from its mounts")?;
    for (fd, number) in [(output, OUTPUT), (output, ERRORS), (channel, CHANNEL), (fault, FAULT)] {
        KERNEL.put(fd, number).at(c"arranging descriptors")?;
    }
    KERNEL.close_from(FAULT + 1).at(c"closing descriptors")
}

/// Receives the order and does it.
fn receive_and_seal() -> Step<()> {
    let mut head = [0_u8; 5];
    let mut fds = [-1; MAX_MOUNTS];
    let mut buffer = [0_u8; MAX_ORDER];
    let hear = c"hearing its order";
    let (length, count) = KERNEL.receive(CHANNEL, &mut head, &mut fds).at(hear)?;
    if length == 0 {
        // sandboxd has no use for it.
        KERNEL.exit(0);
    }
    let got = usize::try_from(length).unwrap_or(0);
    KERNEL.read_all(CHANNEL, head.get_mut(got..).unwrap_or_default()).at(hear)?;
    let [letter, a, b, c, d] = head;
    let size = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    let invalid = || Failure(c"an order that is none", Errno::INVALID);
    let bytes = buffer.get_mut(..size).filter(|_| letter == b'S').ok_or_else(invalid)?;
    KERNEL.read_all(CHANNEL, bytes).at(hear)?;
    let order = Order::read(bytes).ok_or_else(invalid)?;
    let fds = fds.get(..count).filter(|fds| fds.len() == order.descriptors()).ok_or_else(invalid)?;
    mount(&order, fds)?;
    seal(&order)?;
    if order.has(CANARIES) {
        canaries(order.has(PROGRAMS))?;
    }
    KERNEL.close(FAULT);
    KERNEL.write(CHANNEL, b"S\0\0\0\0").at(c"saying that it is sealed")
}

/// The grants, each at its place.
fn mount(order: &Order<'_>, fds: &[c_int]) -> Step<()> {
    let cover = if order.has(COVER) {
        let cover = KERNEL.memory(c"65536", c"64", c"0755").at(c"making mount points")?;
        let place = KERNEL.place(b"/workspace\0").at(c"making mount points")?;
        KERNEL.attach(cover, place).at(c"making mount points")?;
        KERNEL.close(place);
        Some(cover)
    } else {
        None
    };
    for (fd, path) in fds.iter().zip(order.mounts) {
        if cover.is_some() {
            KERNEL.make_folders(path).at(c"making mount points")?;
        }
        let place = KERNEL.place(path).at(c"finding the place of a grant")?;
        KERNEL.attach(*fd, place).at(c"mounting a grant")?;
        KERNEL.close(*fd);
        KERNEL.close(place);
    }
    if let Some(cover) = cover {
        KERNEL.read_only(cover).at(c"making mount points")?;
        KERNEL.close(cover);
    }
    Ok(())
}

/// Limits, capabilities, no new privileges, Landlock, seccomp: in this order, because each needs what a later one takes.
fn seal(order: &Order<'_>) -> Step<()> {
    for (resource, value) in order.limits {
        KERNEL.limit(resource, value).at(c"limits")?;
    }
    if !order.has(KEEP) {
        KERNEL.drop_capabilities().at(c"giving up capabilities")?;
    }
    KERNEL.no_new_privileges().at(c"no_new_privs")?;
    KERNEL.dumpable(false).at(c"becoming not dumpable")?;
    // A change of credentials may have taken it back.
    KERNEL.die_with_parent().at(c"tying itself to sandboxd")?;
    if order.has(LANDLOCK) {
        let rules = KERNEL.rules(order.handled_files, order.handled_ports, order.scopes).at(c"Landlock")?;
        for (path, rights) in order.places {
            KERNEL.rule(rules, path, rights).at(c"Landlock")?;
        }
        KERNEL.restrict(rules).at(c"Landlock")?;
        KERNEL.close(rules);
    }
    KERNEL.filter(order.filter).at(c"the system call filter")
}

/// What must fail now is tried; whatever does not fail as it must ends the process.
fn canaries(programs: bool) -> Step<()> {
    let must = |step: &'static CStr, came: Result<(), Errno>, errors: &[Errno]| match came {
        Err(errno) if errors.contains(&errno) => Ok(()),
        Err(errno) => Err(Failure(step, errno)),
        Ok(()) => Err(Failure(step, Errno(0))),
    };
    let closed = [Errno::NOT_THERE, Errno::NO_ACCESS];
    let unwritable = [Errno::NOT_THERE, Errno::NO_ACCESS, Errno::READ_ONLY];
    let forbidden = [Errno::FORBIDDEN];
    must(c"canary: /etc/passwd can be opened", KERNEL.try_open(c"/etc/passwd", false), &closed)?;
    must(c"canary: /usr can be written", KERNEL.try_open(c"/usr/canary", true), &unwritable)?;
    must(c"canary: an internet socket can be made", KERNEL.try_socket(2), &forbidden)?;
    must(c"canary: a local socket can be made", KERNEL.try_socket(1), &forbidden)?;
    must(c"canary: memory can become code", KERNEL.try_code(), &forbidden)?;
    must(c"canary: a process in a namespace of its own can be made", KERNEL.try_process(NEW_USER), &forbidden)?;
    if programs {
        // The system call is open; which files it takes is said by the mounts and by Landlock.
        let file = KERNEL.try_execute(c"/metnos/host.py");
        return must(c"canary: a file that is not listed can be executed", file, &[Errno::NO_ACCESS]);
    }
    must(c"canary: a program can be executed", KERNEL.try_execute(c"/"), &forbidden)?;
    must(c"canary: a process can be made", KERNEL.try_process(0), &forbidden)
}

/// `serve(control)`: see [`serve`]; 1 for a child that has time.
extern "C" fn py_serve(_module: *mut c_void, argument: *mut c_void) -> *mut c_void {
    let control = system::python_number(argument);
    match serve(control) {
        Ok(rehearse) => system::python_int(rehearse.into()),
        Err(failure) => fail(failure),
    }
}

/// `seal()`: see [`receive_and_seal`].
extern "C" fn py_seal(_module: *mut c_void, _nothing: *mut c_void) -> *mut c_void {
    match receive_and_seal() {
        Ok(()) => system::python_int(0),
        Err(failure) => fail(failure),
    }
}

/// `rename(folder, name, new_folder, new_name)`: see [`system::python_rename_new`].
extern "C" fn py_rename(_module: *mut c_void, arguments: *mut c_void) -> *mut c_void {
    system::python_rename_new(arguments)
}

/// The functions that Python sees.
const METHODS: [system::Method; 4] = [
    system::Method::new(c"serve", py_serve, system::ONE_ARGUMENT),
    system::Method::new(c"seal", py_seal, system::NO_ARGUMENT),
    system::Method::new(c"rename", py_rename, system::ARGUMENTS),
    system::Method::END,
];

system::module!(c"_metnos_seal", METHODS);
