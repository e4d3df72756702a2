//! The forbidden acts themselves, as raw system calls (test builds only). No act may
//! harm the machine when nothing stops it: signals are empty, files are its own.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long};

use crate::attack::Attempt;

type Outcome = Result<String, i32>;

/// A raw system call with up to six arguments.
///
/// # Safety
/// Pointers among the arguments must be valid for what the call does with them.
unsafe fn call(number: c_long, args: [usize; 6]) -> Result<usize, i32> {
    let [a, b, c, d, e, f] = args;
    // SAFETY: the caller vouches for the pointers.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    usize::try_from(answer).map_err(|_| std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// A call whose arguments hold no pointer, or only null.
fn plain(number: c_long, args: &[usize]) -> Result<usize, i32> {
    let mut six = [0_usize; 6];
    for (slot, arg) in six.iter_mut().zip(args) {
        *slot = *arg;
    }
    // SAFETY: every caller below passes numbers only.
    unsafe { call(number, six) }
}

fn bits(number: c_int) -> usize {
    number as usize
}

fn done(what: &str) -> Outcome {
    Ok(what.to_owned())
}

fn text(path: &str) -> Result<CString, i32> {
    CString::new(path).map_err(|_| libc::EINVAL)
}

pub(crate) fn perform(act: Attempt, aim: Option<&str>) -> Outcome {
    let pid = || match aim {
        Some(aim) => aim.parse::<usize>().map_err(|_| libc::EINVAL),
        None => plain(libc::SYS_getppid, &[]),
    };
    match act {
        Attempt::ReadFile => open(aim.unwrap_or("/etc/passwd"), libc::O_RDONLY).map(opened),
        Attempt::ListFolder => open(aim.unwrap_or("/"), libc::O_DIRECTORY).map(opened),
        Attempt::MakeFile => make_file(aim.unwrap_or("/tmp")),
        Attempt::WriteProcMem => write_proc_mem(),
        Attempt::Fork => fork(),
        Attempt::Exec => exec(aim.unwrap_or("/bin/true")),
        Attempt::MemfdExec => memfd_exec(),
        Attempt::UnshareUser => {
            plain(libc::SYS_unshare, &[bits(libc::CLONE_NEWUSER)])?;
            done("a user namespace")
        }
        Attempt::Mount => mount(),
        Attempt::Ptrace => {
            let seize = libc::PTRACE_SEIZE as usize;
            plain(libc::SYS_ptrace, &[seize, pid()?, 0, 0])?;
            done("a process is traced")
        }
        Attempt::ProcessVmRead => process_vm_readv(pid()?),
        Attempt::PidfdGetfd => {
            let process = plain(libc::SYS_pidfd_open, &[pid()?, 0])?;
            plain(libc::SYS_pidfd_getfd, &[process, 0, 0])?;
            done("a descriptor of another process")
        }
        Attempt::SignalParent => {
            plain(libc::SYS_kill, &[pid()?, 0])?;
            done("a signal to another process")
        }
        Attempt::SignalInit => {
            plain(libc::SYS_kill, &[1, 0])?;
            done("a signal to process 1")
        }
        Attempt::InetSocket => socket(libc::AF_INET).map(|_| "a TCP socket".to_owned()),
        Attempt::InetBind => inet(libc::SYS_bind, 0),
        Attempt::InetConnect => {
            let port = aim.unwrap_or("1").parse().map_err(|_| libc::EINVAL)?;
            inet(libc::SYS_connect, port)
        }
        Attempt::UnixSocket => socket(libc::AF_UNIX).map(|_| "a Unix socket".to_owned()),
        Attempt::UnixConnect => unix(libc::SYS_connect, aim.unwrap_or("/run/dbus/socket")),
        Attempt::AbstractConnect => unix(libc::SYS_connect, &format!("\0{}", aim.unwrap_or("metnos"))),
        Attempt::AbstractBind => {
            let name = format!("\0metnos-{}", std::process::id());
            unix(libc::SYS_bind, &name)
        }
        Attempt::IoUring => with_zeroes(libc::SYS_io_uring_setup, 1, "a ring"),
        Attempt::Bpf => bpf(),
        Attempt::Keyctl => {
            const GET_KEYRING_ID: usize = 0;
            const USER_KEYRING: usize = -4_isize as usize;
            plain(libc::SYS_keyctl, &[GET_KEYRING_ID, USER_KEYRING, 1])?;
            done("a keyring")
        }
        Attempt::PerfEvent => perf_event(),
        Attempt::Userfaultfd => {
            const USER_MODE_ONLY: usize = 1;
            plain(libc::SYS_userfaultfd, &[USER_MODE_ONLY])?;
            done("page faults")
        }
        Attempt::Setuid => {
            plain(libc::SYS_setuid, &[0])?;
            done("root")
        }
        Attempt::Chroot => {
            let root = text("/")?;
            // SAFETY: the path lives until the call returns.
            unsafe { call(libc::SYS_chroot, [root.as_ptr() as usize, 0, 0, 0, 0, 0]) }?;
            done("another root")
        }
        Attempt::MprotectExec => mprotect_exec(),
        Attempt::MmapExec => map(libc::PROT_READ | libc::PROT_EXEC).map(|_| "code".to_owned()),
        Attempt::Personality => {
            plain(libc::SYS_personality, &[bits(libc::READ_IMPLIES_EXEC)])?;
            done("another personality")
        }
        Attempt::SetDumpable => {
            plain(libc::SYS_prctl, &[bits(libc::PR_SET_DUMPABLE), 1, 0, 0, 0])?;
            done("dumpable")
        }
    }
}

fn opened(fd: OwnedFd) -> String {
    format!("descriptor {}", fd.as_raw_fd())
}

fn own(fd: usize) -> Result<OwnedFd, i32> {
    let fd = RawFd::try_from(fd).map_err(|_| libc::EBADF)?;
    // SAFETY: the descriptor was just made by the kernel for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn open(path: &str, flags: c_int) -> Result<OwnedFd, i32> {
    let path = text(path)?;
    let flags = bits(flags | libc::O_CLOEXEC);
    let args = [bits(libc::AT_FDCWD), path.as_ptr() as usize, flags, 0o600, 0, 0];
    // SAFETY: the path lives until the call returns.
    own(unsafe { call(libc::SYS_openat, args) }?)
}

fn make_file(folder: &str) -> Outcome {
    let path = format!("{folder}/metnos-attempt-{}", std::process::id());
    drop(open(&path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)?);
    std::fs::remove_file(&path).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    done("a file")
}

fn write_proc_mem() -> Outcome {
    let mut victim = 1_u8;
    let mem = open("/proc/self/mem", libc::O_RDWR)?;
    let byte = 2_u8;
    let address = (&raw mut victim) as usize;
    let args = [bits(mem.as_raw_fd()), (&raw const byte) as usize, 1, address, 0, 0];
    // SAFETY: one byte is read from a live variable, and written to another.
    unsafe { call(libc::SYS_pwrite64, args) }?;
    // SAFETY: reads the live variable that the kernel has just changed.
    let now = unsafe { std::ptr::read_volatile(&raw const victim) };
    if now == byte { done("the own memory, unseen") } else { Err(libc::EIO) }
}

fn fork() -> Outcome {
    let child = plain(libc::SYS_clone, &[bits(libc::SIGCHLD), 0, 0, 0, 0])?;
    if child == 0 {
        // The child ends at once; an error here has nowhere to go.
        let _ = plain(libc::SYS_exit_group, &[0]);
    }
    done("a new process")
}

fn exec(path: &str) -> Outcome {
    let path = text(path)?;
    let argv = [path.as_ptr(), std::ptr::null()];
    let envp = [std::ptr::null::<libc::c_char>()];
    let args = [path.as_ptr() as usize, argv.as_ptr() as usize, envp.as_ptr() as usize, 0, 0, 0];
    // SAFETY: both lists end with null and live until the call returns, if it does.
    unsafe { call(libc::SYS_execve, args) }?;
    Err(libc::EIO)
}

fn memfd_exec() -> Outcome {
    let name = text("attempt")?;
    // SAFETY: the name lives until the call returns.
    let fd = own(unsafe { call(libc::SYS_memfd_create, [name.as_ptr() as usize, 0, 0, 0, 0, 0]) }?)?;
    let program = tiny_program();
    let args = [bits(fd.as_raw_fd()), program.as_ptr() as usize, program.len(), 0, 0, 0];
    // SAFETY: reads the bytes of a live vector.
    unsafe { call(libc::SYS_write, args) }?;
    let empty = text("")?;
    let list = [empty.as_ptr(), std::ptr::null()];
    let list = list.as_ptr() as usize;
    let path = empty.as_ptr() as usize;
    let args = [bits(fd.as_raw_fd()), path, list, list, bits(libc::AT_EMPTY_PATH), 0];
    // SAFETY: the lists end with null and live until the call returns, if it does.
    unsafe { call(libc::SYS_execveat, args) }?;
    Err(libc::EIO)
}

/// An ELF file of one segment that exits with `MEMFD_EXIT`.
fn tiny_program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    #[cfg(target_arch = "x86_64")]
    let (machine, code): (u16, &[u8]) = (
        62, // mov edi, 42; mov eax, 60; syscall
        &[0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05],
    );
    #[cfg(target_arch = "aarch64")]
    let (machine, code): (u16, &[u8]) = (
        183, // mov x0, #42; mov x8, #93; svc #0
        &[0x40, 0x05, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4],
    );
    let size = HEADERS + code.len() as u64;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend(2_u16.to_le_bytes()); // executable
    elf.extend(machine.to_le_bytes());
    elf.extend(1_u32.to_le_bytes());
    elf.extend((BASE + HEADERS).to_le_bytes()); // entry
    elf.extend(64_u64.to_le_bytes()); // program header
    elf.extend([0; 12]); // section headers, flags
    for half in [64_u16, 56, 1, 0, 0, 0] {
        elf.extend(half.to_le_bytes());
    }
    elf.extend(1_u32.to_le_bytes()); // load
    elf.extend(5_u32.to_le_bytes()); // readable, executable
    for word in [0, BASE, BASE, size, size, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    elf
}

fn mount() -> Outcome {
    plain(libc::SYS_unshare, &[bits(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)])?;
    let root = text("/")?;
    let flags = (libc::MS_REC | libc::MS_PRIVATE) as usize;
    // SAFETY: the path lives until the call returns; the other pointers are null, which these flags allow.
    unsafe { call(libc::SYS_mount, [0, root.as_ptr() as usize, 0, flags, 0, 0]) }?;
    done("a change of mounts")
}

fn process_vm_readv(pid: usize) -> Outcome {
    let mut byte = 0_u8;
    let here = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // An address that is mapped in no process: passing the check of rights shows as EFAULT.
    let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(8), iov_len: 1 };
    let args = [pid, (&raw const here) as usize, 1, (&raw const there) as usize, 1, 0];
    // SAFETY: both vectors are live; the kernel checks the foreign address.
    match unsafe { call(libc::SYS_process_vm_readv, args) } {
        Ok(_) | Err(libc::EFAULT) => done("memory of another process"),
        Err(errno) => Err(errno),
    }
}

fn socket(family: c_int) -> Result<OwnedFd, i32> {
    let kind = bits(libc::SOCK_STREAM | libc::SOCK_CLOEXEC);
    own(plain(libc::SYS_socket, &[bits(family), kind, 0])?)
}

fn inet(number: c_long, port: u16) -> Outcome {
    let socket = socket(libc::AF_INET)?;
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(std::net::Ipv4Addr::LOCALHOST).to_be() },
        sin_zero: [0; 8],
    };
    let size = size_of_val(&address);
    let args = [bits(socket.as_raw_fd()), (&raw const address) as usize, size, 0, 0, 0];
    // SAFETY: the address is live and of the size that is passed.
    match unsafe { call(number, args) } {
        // Nobody listens there, which is an answer from outside.
        Ok(_) | Err(libc::ECONNREFUSED) => done("the network"),
        Err(errno) => Err(errno),
    }
}

fn unix(number: c_long, name: &str) -> Outcome {
    let socket = socket(libc::AF_UNIX)?;
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    if name.len() >= address.sun_path.len() {
        return Err(libc::ENAMETOOLONG);
    }
    for (slot, byte) in address.sun_path.iter_mut().zip(name.bytes()) {
        *slot = libc::c_char::from_ne_bytes([byte]);
    }
    let ends_with_nul = usize::from(!name.starts_with('\0'));
    let size = size_of::<libc::sa_family_t>() + name.len() + ends_with_nul;
    let args = [bits(socket.as_raw_fd()), (&raw const address) as usize, size, 0, 0, 0];
    // SAFETY: the address is live and no shorter than the size that is passed.
    unsafe { call(number, args) }?;
    done("a Unix socket of somebody")
}

/// Room for the largest parameter block of any call below.
const BLOCK_BYTES: usize = 256;

fn with_zeroes(number: c_long, first: usize, what: &str) -> Outcome {
    let mut block = [0_u64; BLOCK_BYTES / 8];
    // SAFETY: the block is live and larger than what the call reads or writes.
    unsafe { call(number, [first, block.as_mut_ptr() as usize, 0, 0, 0, 0]) }?;
    done(what)
}

fn bpf() -> Outcome {
    const MAP_CREATE: usize = 0;
    const ARRAY: u32 = 2;
    let attributes: [u32; 4] = [ARRAY, 4, 4, 1];
    let args = [MAP_CREATE, attributes.as_ptr() as usize, size_of_val(&attributes), 0, 0, 0];
    // SAFETY: the block is live and of the size that is passed.
    unsafe { call(libc::SYS_bpf, args) }?;
    done("a map of the kernel")
}

fn perf_event() -> Outcome {
    const SOFTWARE: u32 = 1;
    const SIZE: u32 = 64; // the first version of the block
    let mut block = [0_u32; BLOCK_BYTES / 4];
    block[0] = SOFTWARE;
    block[1] = SIZE;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u32 = 1 << 5 | 1 << 6;
    block[10] = EXCLUDE_KERNEL_AND_HYPERVISOR;
    let nobody = -1_isize as usize;
    let args = [block.as_mut_ptr() as usize, 0, nobody, nobody, 0, 0];
    // SAFETY: the block is live and larger than the size it states.
    unsafe { call(libc::SYS_perf_event_open, args) }?;
    done("a counter")
}

const PAGE_BYTES: usize = 4096;

fn map(protection: c_int) -> Result<usize, i32> {
    let flags = bits(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let no_file = -1_isize as usize;
    plain(libc::SYS_mmap, &[0, PAGE_BYTES, bits(protection), flags, no_file, 0])
}

fn mprotect_exec() -> Outcome {
    let page = map(libc::PROT_READ | libc::PROT_WRITE)?;
    let protection = bits(libc::PROT_READ | libc::PROT_EXEC);
    plain(libc::SYS_mprotect, &[page, PAGE_BYTES, protection])?;
    done("executable memory")
}
