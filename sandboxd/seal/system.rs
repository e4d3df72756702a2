//! The only unsafe code of the seal: system calls, and the interpreter's C interface. Each function does
//! exactly one thing, and none keeps a pointer beyond its call.
#![allow(unsafe_code, reason = "there is no library below this module")]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

/// The kernel, as far as it is needed.
pub struct Kernel;

/// What the kernel said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub c_int);

impl Errno {
    /// `EPERM`.
    pub const FORBIDDEN: Self = Self(1);
    /// `ENOENT`.
    pub const NOT_THERE: Self = Self(2);
    /// `EACCES`.
    pub const NO_ACCESS: Self = Self(13);
    /// `EEXIST`.
    const EXISTS: Self = Self(17);
    /// `EINVAL`.
    pub const INVALID: Self = Self(22);
    /// `EROFS`.
    pub const READ_ONLY: Self = Self(30);
    /// `EINTR`.
    const INTERRUPTED: Self = Self(4);
}

/// Which side of a fork this is.
pub enum Fork {
    /// The new process.
    Child,
    /// The old one.
    Parent {
        /// The new one's number.
        pid: i64,
        /// The new one's descriptor.
        pidfd: c_int,
    },
    /// There is no new one.
    Failed(Errno),
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
    fn PyOS_BeforeFork();
    fn PyOS_AfterFork_Parent();
    fn PyOS_AfterFork_Child();
    fn PyLong_AsLong(object: *mut c_void) -> c_long;
    fn PyLong_FromLong(value: c_long) -> *mut c_void;
    fn PyArg_ParseTuple(arguments: *mut c_void, format: *const c_char, ...) -> c_int;
    fn PyModuleDef_Init(definition: *mut ModuleDefinition) -> *mut c_void;
}

macro_rules! numbers {
    ($($name:ident: $x86:literal, $arm:literal;)+) => {
        $(
            #[cfg(target_arch = "x86_64")]
            const $name: c_long = $x86;
            #[cfg(target_arch = "aarch64")]
            const $name: c_long = $arm;
        )+
    };
}

numbers! {
    READ: 0, 63; WRITE: 1, 64; CLOSE: 3, 57; MMAP: 9, 222; SOCKET: 41, 198; SENDMSG: 46, 211; RECVMSG: 47, 212;
    CLONE: 56, 220; CLONE3: 435, 435; EXECVE: 59, 221; SETSID: 112, 157; CAPSET: 126, 91; PRCTL: 157, 167; SETHOSTNAME: 170, 161;
    EXIT_GROUP: 231, 94; OPENAT: 257, 56; MKDIRAT: 258, 34; DUP3: 292, 24; PRLIMIT64: 302, 261; SECCOMP: 317, 277;
    MOVE_MOUNT: 429, 429; FSOPEN: 430, 430; FSCONFIG: 431, 431; FSMOUNT: 432, 432; CLOSE_RANGE: 436, 436;
    OPENAT2: 437, 437; MOUNT_SETATTR: 442, 442; LANDLOCK_CREATE_RULESET: 444, 444; LANDLOCK_ADD_RULE: 445, 445;
    LANDLOCK_RESTRICT_SELF: 446, 446; RENAMEAT2: 316, 276;
}

/// Makes a system call. Every argument is widened to a register, so that none is cut or left undefined.
macro_rules! call {
    ($number:expr $(, $argument:expr)* $(,)?) => {{
        // SAFETY: each use below passes numbers, or pointers to memory that lives until the call returns and is as
        // large as the kernel is told.
        let result = unsafe { syscall($number $(, $argument as c_long)*) };
        if result < 0 {
            // SAFETY: the C library gives each thread a place for the last error.
            Err(Errno(unsafe { *__errno_location() }))
        } else {
            Ok(result)
        }
    }};
}

const AT_FDCWD: c_int = -100;
const AT_EMPTY_PATH: c_int = 0x1000;
const AT_RECURSIVE: c_int = 0x8000;
const O_RDONLY: c_int = 0;
const O_WRONLY: c_int = 1;
const O_CREAT: c_int = 0o100;
const O_CLOEXEC: c_int = 0o2_000_000;
const O_PATH: c_int = 0o10_000_000;
const ATTR_RDONLY: u64 = 1;
const ATTR_NOSUID: u64 = 2;
const ATTR_NODEV: u64 = 4;
const ATTR_NOEXEC: u64 = 8;
/// New user, process, mount, network, IPC, host name and control group namespaces; a child of this process's
/// parent; with a descriptor.
const FORK_FLAGS: u64 =
    0x1000_0000 | 0x2000_0000 | 0x2_0000 | 0x4000_0000 | 0x800_0000 | 0x400_0000 | 0x200_0000 | 0x8000 | 0x1000;

/// It begins in a control group that is given by descriptor.
const INTO_GROUP: u64 = 0x2_0000_0000;

/// What the younger call that forks is told.
#[repr(C, align(8))]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    group: u64,
}

#[repr(C)]
struct Vector {
    base: *mut c_void,
    length: usize,
}

#[repr(C)]
struct Message {
    name: *mut c_void,
    name_length: u32,
    vectors: *mut Vector,
    vector_count: usize,
    control: *mut c_void,
    control_length: usize,
    flags: c_int,
}

/// Room for the descriptors of one message: a head of 16 bytes, then four bytes each.
#[repr(C, align(8))]
struct Control([u8; 16 + 4 * 32]);

const SOL_SOCKET: c_int = 1;
const SCM_RIGHTS: c_int = 1;

impl Kernel {
    /// Receives one piece and the descriptors that came with it, which are closed by an exec.
    pub fn receive(&self, fd: c_int, bytes: &mut [u8], fds: &mut [c_int]) -> Result<(c_long, usize), Errno> {
        const CLOSE_ON_EXEC: c_int = 0x4000_0000;
        const CUT: c_int = 0x8;
        let mut control = Control([0; 144]);
        let mut vector = Vector { base: bytes.as_mut_ptr().cast(), length: bytes.len() };
        let mut message = Message {
            name: core::ptr::null_mut(),
            name_length: 0,
            vectors: &raw mut vector,
            vector_count: 1,
            control: (&raw mut control).cast(),
            control_length: size_of::<Control>(),
            flags: 0,
        };
        let length = loop {
            match call!(RECVMSG, fd, &raw mut message, CLOSE_ON_EXEC) {
                Err(Errno::INTERRUPTED) => {}
                other => break other?,
            }
        };
        if message.flags & CUT != 0 {
            return Err(Errno::INVALID);
        }
        let control = control.0.get(..message.control_length).unwrap_or_default();
        let number = |at: usize| {
            let bytes = control.get(at..at + 4)?;
            Some(c_int::from_ne_bytes(bytes.try_into().ok()?))
        };
        if control.is_empty() {
            return Ok((length, 0));
        }
        // One head: its length with the head, the level, the type.
        let told = usize::try_from(number(0).unwrap_or(0)).unwrap_or(0);
        let rights = number(8) == Some(SOL_SOCKET) && number(12) == Some(SCM_RIGHTS);
        let count = told.saturating_sub(16) / 4;
        if !rights || count > fds.len() {
            return Err(Errno::INVALID);
        }
        for (index, place) in fds.iter_mut().take(count).enumerate() {
            *place = number(16 + 4 * index).ok_or(Errno::INVALID)?;
        }
        Ok((length, count))
    }

    /// Sends one piece, with a descriptor or without.
    pub fn send(&self, fd: c_int, bytes: &[u8], along: Option<c_int>) -> Result<(), Errno> {
        const NO_SIGNAL: c_int = 0x4000;
        let mut control = Control([0; 144]);
        let mut used = 0;
        if let Some(along) = along {
            let head = [20_u64.to_ne_bytes(), [0; 8]].concat_16(SOL_SOCKET, SCM_RIGHTS);
            control.0[..16].copy_from_slice(&head);
            control.0[16..20].copy_from_slice(&along.to_ne_bytes());
            used = 24;
        }
        let mut vector = Vector { base: bytes.as_ptr().cast_mut().cast(), length: bytes.len() };
        let message = Message {
            name: core::ptr::null_mut(),
            name_length: 0,
            vectors: &raw mut vector,
            vector_count: 1,
            control: if used == 0 { core::ptr::null_mut() } else { (&raw mut control).cast() },
            control_length: used,
            flags: 0,
        };
        call!(SENDMSG, fd, &raw const message, NO_SIGNAL)?;
        Ok(())
    }

    /// Reads until `bytes` are full.
    pub fn read_all(&self, fd: c_int, bytes: &mut [u8]) -> Result<(), Errno> {
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
            match call!(READ, fd, rest.as_mut_ptr(), rest.len()) {
                Ok(0) => return Err(Errno::INVALID),
                Ok(length) => at += usize::try_from(length).unwrap_or(0),
                Err(Errno::INTERRUPTED) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Writes once.
    pub fn write(&self, fd: c_int, bytes: &[u8]) -> Result<(), Errno> {
        call!(WRITE, fd, bytes.as_ptr(), bytes.len())?;
        Ok(())
    }

    /// Writes to a file below a folder.
    pub fn write_file(&self, folder: c_int, name: &CStr, bytes: &[u8]) -> Result<(), Errno> {
        let fd = descriptor(call!(OPENAT, folder, name.as_ptr(), O_WRONLY | O_CLOEXEC, 0)?)?;
        let written = self.write(fd, bytes);
        self.close(fd);
        written
    }

    /// Closes a descriptor.
    pub fn close(&self, fd: c_int) {
        let _ = call!(CLOSE, fd);
    }

    /// Closes every descriptor from `first` on.
    pub fn close_from(&self, first: c_int) -> Result<(), Errno> {
        call!(CLOSE_RANGE, first, c_long::from(u32::MAX), 0)?;
        Ok(())
    }

    /// Makes `number` name what `fd` names.
    pub fn put(&self, fd: c_int, number: c_int) -> Result<(), Errno> {
        call!(DUP3, fd, number, 0)?;
        Ok(())
    }

    /// Ends the process.
    pub fn exit(&self, code: c_int) -> ! {
        loop {
            let _ = call!(EXIT_GROUP, code);
        }
    }

    /// Forks into new namespaces, and into the control group of this descriptor, if there is one; the child's parent is this
    /// process's parent.
    pub fn fork(&self, group: c_int) -> Fork {
        let mut pidfd: c_int = -1;
        // SAFETY: the interpreter is told before and after, as its own `fork` does; this is called with its lock held.
        unsafe { PyOS_BeforeFork() };
        // With a null stack and no sharing flag this is `fork`: the child has a copy of this process's memory. The
        // process has one thread, so no lock is held by one that does not exist in the child. The C library is not
        // told: what it keeps of the thread's number is that of the zygote, which only its checking mutexes compare,
        // and only with itself.
        let result = match u64::try_from(group) {
            Err(_) => call!(CLONE, FORK_FLAGS, 0, &raw mut pidfd, 0, 0),
            Ok(group) => {
                // The signal of its end is the one of this process's own, because it has the same parent.
                let arguments = CloneArguments {
                    flags: FORK_FLAGS | INTO_GROUP,
                    pidfd: (&raw mut pidfd) as u64,
                    child_tid: 0,
                    parent_tid: 0,
                    exit_signal: 0,
                    stack: 0,
                    stack_size: 0,
                    tls: 0,
                    set_tid: 0,
                    set_tid_size: 0,
                    group,
                };
                call!(CLONE3, &raw const arguments, size_of::<CloneArguments>())
            }
        };
        match result {
            Ok(0) => {
                // SAFETY: see above.
                unsafe { PyOS_AfterFork_Child() };
                Fork::Child
            }
            other => {
                // SAFETY: see above.
                unsafe { PyOS_AfterFork_Parent() };
                match other {
                    Ok(pid) => Fork::Parent { pid, pidfd },
                    Err(errno) => Fork::Failed(errno),
                }
            }
        }
    }

    /// Ends with the parent.
    pub fn die_with_parent(&self) -> Result<(), Errno> {
        call!(PRCTL, 1, 9, 0, 0, 0)?;
        Ok(())
    }

    /// Whether its `/proc` files are its own.
    pub fn dumpable(&self, is: bool) -> Result<(), Errno> {
        call!(PRCTL, 4, is, 0, 0, 0)?;
        Ok(())
    }

    /// Nothing executed later gains anything.
    pub fn no_new_privileges(&self) -> Result<(), Errno> {
        call!(PRCTL, 38, 1, 0, 0, 0)?;
        Ok(())
    }

    /// A session of its own.
    pub fn own_session(&self) -> Result<(), Errno> {
        call!(SETSID)?;
        Ok(())
    }

    /// The machine's name in the own namespace.
    pub fn name(&self, name: &[u8]) -> Result<(), Errno> {
        call!(SETHOSTNAME, name.as_ptr(), name.len())?;
        Ok(())
    }

    /// A new file system in memory.
    pub fn memory(&self, bytes: &CStr, files: &CStr, mode: &CStr) -> Result<c_int, Errno> {
        const SET_STRING: c_int = 1;
        const CREATE: c_int = 6;
        let context = descriptor(call!(FSOPEN, c"tmpfs".as_ptr(), 1)?)?;
        for (key, value) in [(c"size", bytes), (c"nr_inodes", files), (c"mode", mode)] {
            call!(FSCONFIG, context, SET_STRING, key.as_ptr(), value.as_ptr(), 0)?;
        }
        call!(FSCONFIG, context, CREATE, 0, 0, 0)?;
        let made = descriptor(call!(FSMOUNT, context, 1, ATTR_NOSUID | ATTR_NODEV | ATTR_NOEXEC)?);
        self.close(context);
        made
    }

    /// A place in the own root, reached without any link.
    pub fn place(&self, path: &[u8]) -> Result<c_int, Errno> {
        const NO_SYMLINKS: u64 = 4;
        let how = [u64::from((O_PATH | O_CLOEXEC).unsigned_abs()), 0, NO_SYMLINKS];
        descriptor(call!(OPENAT2, AT_FDCWD, path.as_ptr(), how.as_ptr(), size_of_val(&how))?)
    }

    /// Mounts at a place.
    pub fn attach(&self, mount: c_int, place: c_int) -> Result<(), Errno> {
        const BOTH_BY_DESCRIPTOR: c_int = 0x4 | 0x40;
        call!(MOVE_MOUNT, mount, c"".as_ptr(), place, c"".as_ptr(), BOTH_BY_DESCRIPTOR)?;
        Ok(())
    }

    fn set_attributes(&self, fd: c_int, path: &CStr, flags: c_int, set: u64) -> Result<(), Errno> {
        let attributes = [set, 0, 0, 0];
        call!(MOUNT_SETATTR, fd, path.as_ptr(), flags, attributes.as_ptr(), size_of_val(&attributes))?;
        Ok(())
    }

    /// Takes writing from a mount.
    pub fn read_only(&self, mount: c_int) -> Result<(), Errno> {
        self.set_attributes(mount, c"", AT_EMPTY_PATH, ATTR_RDONLY)
    }

    /// Takes from every mount that anything on it be executed or mapped as code.
    pub fn nothing_executable(&self) -> Result<(), Errno> {
        self.set_attributes(AT_FDCWD, c"/", AT_RECURSIVE, ATTR_NOEXEC)
    }

    /// Makes the folders on the way to a path that ends in NUL, and the last one.
    pub fn make_folders(&self, path: &[u8]) -> Result<(), Errno> {
        let mut name = [0_u8; 2048];
        for (at, byte) in path.iter().enumerate() {
            if matches!(byte, b'/' | 0) && at > 0 {
                // Whatever stands behind is NUL.
                match call!(MKDIRAT, AT_FDCWD, name.as_ptr(), 0o755) {
                    Ok(_) | Err(Errno::EXISTS | Errno::READ_ONLY) => {}
                    Err(errno) => return Err(errno),
                }
            }
            // One byte stays NUL.
            let end = name.len() - 1;
            *name.get_mut(..end).and_then(|name| name.get_mut(at)).ok_or(Errno::INVALID)? = *byte;
        }
        Ok(())
    }

    /// Limits a resource for good.
    pub fn limit(&self, resource: u32, value: u64) -> Result<(), Errno> {
        let limit = [value, value];
        call!(PRLIMIT64, 0, resource, limit.as_ptr(), 0)?;
        Ok(())
    }

    /// Leaves no capability, in no set.
    pub fn drop_capabilities(&self) -> Result<(), Errno> {
        const CLEAR_AMBIENT: c_int = 4;
        const VERSION_3: u32 = 0x2008_0522;
        call!(PRCTL, 47, CLEAR_AMBIENT, 0, 0, 0)?;
        for capability in 0..64 {
            match call!(PRCTL, 24, capability, 0, 0, 0) {
                Ok(_) => {}
                // There are no more; or none may be taken because none is held.
                Err(Errno::INVALID | Errno::FORBIDDEN) => break,
                Err(errno) => return Err(errno),
            }
        }
        let head = [VERSION_3, 0];
        let none = [0_u32; 6];
        call!(CAPSET, head.as_ptr(), none.as_ptr())?;
        Ok(())
    }

    /// A set of Landlock rules, still without one. What an older kernel does not know was left out by sandboxd.
    pub fn rules(&self, files: u64, ports: u64, scopes: u64) -> Result<c_int, Errno> {
        let handled = [files, ports, scopes];
        let known = if scopes != 0 { 24 } else if ports != 0 { 16 } else { 8 };
        descriptor(call!(LANDLOCK_CREATE_RULESET, handled.as_ptr(), known, 0)?)
    }

    /// Gives rights back at a path that ends in NUL.
    pub fn rule(&self, rules: c_int, path: &[u8], rights: u64) -> Result<(), Errno> {
        #[repr(C, packed)]
        struct Beneath {
            rights: u64,
            folder: c_int,
        }
        const PATH_BENEATH: c_int = 1;
        let folder = self.place(path)?;
        let beneath = Beneath { rights, folder };
        let added = call!(LANDLOCK_ADD_RULE, rules, PATH_BENEATH, &raw const beneath, 0);
        self.close(folder);
        added?;
        Ok(())
    }

    /// Puts the rules on.
    pub fn restrict(&self, rules: c_int) -> Result<(), Errno> {
        call!(LANDLOCK_RESTRICT_SELF, rules, 0)?;
        Ok(())
    }

    /// Puts the filter on.
    pub fn filter(&self, instructions: &[u8]) -> Result<(), Errno> {
        #[repr(C)]
        struct Program {
            count: u16,
            instructions: *const u8,
        }
        const SET_MODE_FILTER: c_int = 1;
        let count = u16::try_from(instructions.len() / 8).map_err(|_| Errno::INVALID)?;
        let program = Program { count, instructions: instructions.as_ptr() };
        call!(SECCOMP, SET_MODE_FILTER, 0, &raw const program)?;
        Ok(())
    }

    /// Tries to open.
    pub fn try_open(&self, path: &CStr, write: bool) -> Result<(), Errno> {
        let flags = if write { O_WRONLY | O_CREAT } else { O_RDONLY };
        call!(OPENAT, AT_FDCWD, path.as_ptr(), flags | O_CLOEXEC, 0o600)?;
        Ok(())
    }

    /// Tries to make a socket of a family.
    pub fn try_socket(&self, family: c_int) -> Result<(), Errno> {
        call!(SOCKET, family, 1, 0)?;
        Ok(())
    }

    /// Tries to execute.
    pub fn try_execute(&self, path: &CStr) -> Result<(), Errno> {
        call!(EXECVE, path.as_ptr(), 0, 0)?;
        Ok(())
    }

    /// Tries to make memory that is code.
    pub fn try_code(&self) -> Result<(), Errno> {
        call!(MMAP, 0, 4096, 0x5, 0x22, -1, 0)?;
        Ok(())
    }

    /// Tries to make a process, with these flags.
    pub fn try_process(&self, flags: c_long) -> Result<(), Errno> {
        const CHILD_ENDS_WITH: c_long = 17;
        if call!(CLONE, flags | CHILD_ENDS_WITH, 0, 0, 0, 0)? == 0 {
            self.exit(0);
        }
        Ok(())
    }
}

fn descriptor(result: c_long) -> Result<c_int, Errno> {
    c_int::try_from(result).map_err(|_| Errno::INVALID)
}

/// Puts a head of a control message together.
trait Head {
    fn concat_16(self, level: c_int, kind: c_int) -> [u8; 16];
}

impl Head for [[u8; 8]; 2] {
    fn concat_16(self, level: c_int, kind: c_int) -> [u8; 16] {
        let mut head = [0; 16];
        head[..8].copy_from_slice(&self[0]);
        head[8..12].copy_from_slice(&level.to_ne_bytes());
        head[12..].copy_from_slice(&kind.to_ne_bytes());
        head
    }
}

/// The number in a Python object; -1, which is no descriptor, when it holds none.
pub fn python_number(object: *mut c_void) -> c_int {
    // SAFETY: the interpreter passes a valid object, and its lock is held.
    c_int::try_from(unsafe { PyLong_AsLong(object) }).unwrap_or(-1)
}

/// A number for Python; zero stands for *done*.
pub fn python_int(value: c_long) -> *mut c_void {
    // SAFETY: the interpreter's lock is held.
    unsafe { PyLong_FromLong(value) }
}

/// `RENAME_NOREPLACE`.
const RENAME_NOREPLACE: c_int = 1;

/// Renames, and replaces nothing: `(folder, name, new folder, new name)`. Zero, or what the kernel said, below zero; nothing,
/// with the interpreter's error set, when the arguments are others.
pub fn python_rename_new(arguments: *mut c_void) -> *mut c_void {
    let (mut from, mut to): (c_int, c_int) = (-1, -1);
    let (mut name, mut new_name): (*const c_char, *const c_char) = (core::ptr::null(), core::ptr::null());
    // SAFETY: the interpreter's lock is held; the format names the four places that follow, and the texts live as long as the
    // arguments, which the caller holds.
    let read = unsafe {
        PyArg_ParseTuple(arguments, c"iyiy".as_ptr(), &raw mut from, &raw mut name, &raw mut to, &raw mut new_name)
    };
    if read == 0 {
        return core::ptr::null_mut();
    }
    match call!(RENAMEAT2, from, name, to, new_name, RENAME_NOREPLACE) {
        Ok(_) => python_int(0),
        Err(Errno(number)) => python_int(-c_long::from(number)),
    }
}

/// The flag of a function that takes any number of arguments.
pub const ARGUMENTS: c_int = 1;
/// The flag of a function that takes one argument.
pub const ONE_ARGUMENT: c_int = 8;
/// The flag of a function that takes none.
pub const NO_ARGUMENT: c_int = 4;

type Function = extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void;

/// `PyMethodDef`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Method {
    name: *const c_char,
    function: Option<Function>,
    flags: c_int,
    documentation: *const c_char,
}

impl Method {
    /// The end of a list.
    pub const END: Self =
        Self { name: core::ptr::null(), function: None, flags: 0, documentation: core::ptr::null() };

    /// A function of the module.
    pub const fn new(name: &'static CStr, function: Function, flags: c_int) -> Self {
        Self { name: name.as_ptr(), function: Some(function), flags, documentation: core::ptr::null() }
    }
}

/// `PyModuleDef`, whose head the interpreter fills in.
#[repr(C)]
pub struct ModuleDefinition {
    head: [usize; 5],
    name: *const c_char,
    documentation: *const c_char,
    size: isize,
    methods: *mut Method,
    slots: *mut c_void,
    others: [*mut c_void; 3],
}

/// A value that the interpreter changes, and only it, under its lock.
#[repr(transparent)]
pub struct Shared<T>(core::cell::UnsafeCell<T>);

// SAFETY: the interpreter's lock lets one thread at a time come here.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Wraps it.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Where it is.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}

impl ModuleDefinition {
    /// A module without state of its own.
    pub const fn new(name: &'static CStr, methods: *mut Method) -> Self {
        // One reference, so that it is never freed.
        let (head, nothing) = ([1, 0, 0, 0, 0], core::ptr::null_mut());
        let (name, documentation) = (name.as_ptr(), core::ptr::null());
        Self { head, name, documentation, size: 0, methods, slots: nothing, others: [nothing; 3] }
    }
}

/// What the interpreter asks for when it loads the module.
pub fn python_module(definition: &'static Shared<ModuleDefinition>) -> *mut c_void {
    // SAFETY: the definition lives as long as the process.
    unsafe { PyModuleDef_Init(definition.get()) }
}

/// Makes the module's entry.
macro_rules! module {
    ($name:expr, $methods:expr) => {
        static TABLE: $crate::system::Shared<[$crate::system::Method; 4]> = $crate::system::Shared::new($methods);
        static MODULE: $crate::system::Shared<$crate::system::ModuleDefinition> = $crate::system::Shared::new(
            $crate::system::ModuleDefinition::new($name, TABLE.get().cast::<$crate::system::Method>()),
        );
        $crate::system::entry!();
    };
}

macro_rules! entry {
    () => {
        /// What the interpreter looks for.
        #[unsafe(no_mangle)]
        pub extern "C" fn PyInit__metnos_seal() -> *mut core::ffi::c_void {
            $crate::system::python_module(&MODULE)
        }

        /// The core library was made for programs that unwind, and names this. Nothing here does: a panic ends the
        /// process.
        #[unsafe(no_mangle)]
        pub extern "C" fn rust_eh_personality() {}

        #[panic_handler]
        fn panic(_information: &core::panic::PanicInfo<'_>) -> ! {
            KERNEL.exit(NOT_SEALED)
        }
    };
}

pub(crate) use {entry, module};
