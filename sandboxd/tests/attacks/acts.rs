//! Acts that must be stopped, and by which error.

use super::{Attack, Must};

/// No such file, or no right to it: a path outside is not there at all.
const NOT_THERE: &[&str] = &["ENOENT", "EACCES"];
const READ_ONLY: &[&str] = &["EROFS", "EACCES"];
const FORBIDDEN: &[&str] = &["EPERM"];
const LINK: &[&str] = &["ELOOP", "ENOTDIR"];

macro_rules! attacks {
    ($name:ident: $must:ident { $($attack:ident $answers:expr => $code:expr;)+ }) => {
        pub const $name: &[Attack] =
            &[$(Attack { name: stringify!($attack), code: concat!("def run(args, ctx):\n    nr = args['nr']\n", $code), must: Must::$must($answers) },)+];
    };
}

attacks! { ALL: Say {
    open_passwd NOT_THERE => "    return answer(attempt(os.open, '/etc/passwd', os.O_RDONLY))";
    open_shadow_through_dots NOT_THERE => "    return answer(attempt(os.open, ctx.workspace + '/../etc/shadow', os.O_RDONLY))";
    list_etc NOT_THERE => "    return answer(attempt(os.listdir, '/etc'))";
    open_proc NOT_THERE => "    return answer([attempt(os.listdir, '/proc'), attempt(os.open, '/proc/self/mem', os.O_RDWR), attempt(os.open, '/proc/1/root', os.O_RDONLY)])";
    open_sys NOT_THERE => "    return answer([attempt(os.listdir, '/sys'), attempt(os.open, '/sys/kernel', os.O_RDONLY)])";
    open_home NOT_THERE => "    return answer([attempt(os.listdir, '/root'), attempt(os.listdir, '/home')])";
    open_other_programs NOT_THERE => "    return answer([attempt(os.open, path, os.O_RDONLY) for path in ('/bin/sh', '/usr/bin/id', '/usr/bin/env')])";
    open_devices NOT_THERE => "    return answer([attempt(os.open, '/dev/' + name, os.O_RDWR) for name in ('mem', 'kmsg', 'tty', 'sda', 'vda', 'ptmx', 'shm/x', 'random')])";
    open_what_lies_beside_the_workspace NOT_THERE => "    return answer([attempt(os.open, path, os.O_RDONLY) for path in ('/.policy/instance.key', '/workspace/../.policy/instance.key', '/pool', '/scratch', '/new')])";
    list_the_root &["EACCES"] => "    return answer(attempt(os.listdir, '/'))";
    read_its_log_or_channel_again NOT_THERE => "    return answer(attempt(os.open, '/dev/fd/3', os.O_RDONLY))";
    follow_a_link_out LINK => "    return answer(attempt(os.open, ctx.workspace + '/notes/link', os.O_RDONLY))";
    walk_through_a_link_out LINK => "    return answer(attempt(os.open, ctx.workspace + '/notes/out/passwd', os.O_RDONLY))";
    follow_a_link_up LINK => "    return answer(attempt(os.open, ctx.workspace + '/notes/up', os.O_RDONLY))";
    follow_a_link_inside LINK => "    return answer(attempt(os.open, ctx.workspace + '/notes/inside', os.O_RDONLY))";
    write_the_workspace READ_ONLY => "    return answer([attempt(os.open, ctx.workspace + '/new', os.O_CREAT | os.O_WRONLY), attempt(os.open, ctx.workspace + '/notes/welcome.md', os.O_WRONLY), attempt(os.truncate, ctx.workspace + '/notes/welcome.md', 0)])";
    change_names_in_the_workspace READ_ONLY => "    return answer([attempt(os.unlink, ctx.workspace + '/notes/welcome.md'), attempt(os.rename, ctx.workspace + '/notes', ctx.workspace + '/n'), attempt(os.mkdir, ctx.workspace + '/d')])";
    change_modes_in_the_workspace &["EROFS"] => "    return answer([attempt(os.chmod, ctx.workspace + '/notes/welcome.md', 0o777), attempt(os.utime, ctx.workspace + '/notes/welcome.md')])";
    write_the_library READ_ONLY => "    return answer([attempt(os.open, os.path.dirname(os.__file__) + '/x.py', os.O_CREAT | os.O_WRONLY), attempt(os.open, os.__file__, os.O_WRONLY)])";
    write_its_own_code READ_ONLY => "    return answer([attempt(os.open, '/metnos/host.py', os.O_WRONLY), attempt(os.open, '/seal/_metnos_seal.so', os.O_WRONLY), attempt(os.open, '/metnos/new.py', os.O_CREAT | os.O_WRONLY)])";
    write_the_root READ_ONLY => "    return answer([attempt(os.open, '/new', os.O_CREAT | os.O_WRONLY), attempt(os.mkdir, '/etc')])";
    link_in_tmp FORBIDDEN => "    open(ctx.tmp + '/a', 'w').close()\n    return answer([attempt(os.symlink, '/etc/passwd', ctx.tmp + '/l'), attempt(os.link, ctx.tmp + '/a', ctx.tmp + '/b')])";
    link_the_workspace_into_tmp FORBIDDEN => "    return answer(attempt(os.link, ctx.workspace + '/notes/welcome.md', ctx.tmp + '/w'))";
    make_nodes FORBIDDEN => "    return answer([attempt(os.mkfifo, ctx.tmp + '/f'), attempt(os.mknod, ctx.tmp + '/n', 0o20666, os.makedev(1, 1))])";
    change_owners FORBIDDEN => "    open(ctx.tmp + '/a', 'w').close()\n    return answer([attempt(os.chown, ctx.tmp + '/a', 0, 0), attempt(os.setxattr, ctx.tmp + '/a', 'user.x', b'x')])";
    sockets_of_every_family FORBIDDEN => "    return answer([attempt(socket.socket, family, kind) for family in range(46) for kind in (1, 2, 3)])";
    pairs_of_sockets FORBIDDEN => "    return answer(attempt(socket.socketpair))";
    resolve_a_name &["EPERM", "gaierror"] => "    try:\n        socket.getaddrinfo('example.org', 443)\n    except socket.gaierror:\n        return answer('gaierror')\n    except OSError as error:\n        return answer(errno.errorcode[error.errno])\n    return answer('done')";
    send_its_channel_away &["EPERM", "ENOTSOCK"] => "    try:\n        channel = socket.socket(fileno=os.dup(3))\n    except OSError as error:\n        return answer(errno.errorcode[error.errno])\n    return answer([attempt(socket.send_fds, channel, [b'x'], [0]), attempt(channel.getpeername)])";
    fork FORBIDDEN => "    return answer(attempt(os.fork))";
    spawn_a_shell FORBIDDEN => "    return answer([attempt(os.posix_spawn, '/bin/sh', ['sh'], {}), attempt(os.execv, '/bin/sh', ['sh'])])";
    run_a_subprocess FORBIDDEN => "    import subprocess\n    return answer(attempt(subprocess.run, ['/bin/id']))";
    execute_the_interpreter_again FORBIDDEN => "    return answer([attempt(os.execv, sys.executable, [sys.executable, '-c', '0']), attempt(os.execve, os.open(sys.executable, os.O_RDONLY), ['python3'], {})])";
    execute_the_loader FORBIDDEN => "    return answer([attempt(os.execv, path, [path, sys.executable, '-c', '0']) for path in ('/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1')])";
    execute_from_tmp FORBIDDEN => "    path = ctx.tmp + '/x'\n    with open(path, 'w') as file:\n        file.write('#!' + sys.executable)\n    os.chmod(path, 0o755)\n    return answer(attempt(os.execv, path, [path]))";
    a_file_in_memory FORBIDDEN => "    return answer(attempt(os.memfd_create, 'x'))";
    signal_everybody FORBIDDEN => "    return answer([attempt(os.kill, pid, 9) for pid in (-1, 0, 1, 2, 1000)])";
    become_somebody_else FORBIDDEN => "    return answer([attempt(os.setuid, 0), attempt(os.setgid, 0), attempt(os.setgroups, [0]), attempt(os.setresuid, 0, 0, 0), attempt(os.setsid)])";
    hurry_itself FORBIDDEN => "    return answer([attempt(os.nice, -5), attempt(os.setpriority, 0, 0, -5), attempt(os.sched_setaffinity, 0, [0])])";
    change_the_clock FORBIDDEN => "    return answer(attempt(time.clock_settime, time.CLOCK_REALTIME, 0))";
    rename_the_machine FORBIDDEN => "    return answer(attempt(socket.sethostname, 'x'))";
    change_its_root FORBIDDEN => "    return answer([attempt(os.chroot, '/tmp')])";
    type_into_a_terminal &["EPERM"] => "    import fcntl\n    return answer([attempt(fcntl.ioctl, 0, call, b'x') for call in (0x5412, 0x541c, 0x5414)])";
    have_the_kernel_send_signals FORBIDDEN => "    import fcntl\n    return answer([attempt(fcntl.fcntl, 3, call, 1) for call in (8, 10, 1032)])";
    find_descriptors_of_sandboxd &["EBADF"] => "    return answer([attempt(os.fstat, number) for number in range(4, 1024)])";
    find_secrets_in_the_environment &["HOME", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TZ"] => "    return answer(list(os.environ))";
    load_a_library_of_its_own &["ImportError"] => "    import importlib.machinery\n    path = ctx.tmp + '/evil.so'\n    with open(sys.modules['_json'].__file__, 'rb') as source, open(path, 'wb') as copy:\n        copy.write(source.read())\n    try:\n        importlib.machinery.ExtensionFileLoader('_json', path).create_module(importlib.machinery.ModuleSpec('_json', None, origin=path))\n    except ImportError:\n        return answer('ImportError')\n    return answer('done')";
    import_what_was_not_granted &["ImportError"] => "    def load(name):\n        try:\n            __import__(name)\n        except ImportError:\n            return 'ImportError'\n        return 'done'\n    return answer([load(name) for name in ('ctypes', '_ssl', '_testcapi', 'mmap', '_posixshmem', 'termios')])";
    fill_tmp &["ENOSPC", "EFBIG"] => "    def fill():\n        for number in range(64):\n            with open(ctx.tmp + '/' + str(number), 'wb') as file:\n                file.write(bytes(1 << 20))\n    return answer(attempt(fill))";
    make_countless_files &["ENOSPC"] => "    def make():\n        for number in range(5000):\n            os.close(os.open(ctx.tmp + '/' + str(number), os.O_CREAT | os.O_WRONLY))\n    return answer(attempt(make))";
    open_countless_descriptors &["EMFILE"] => "    def many():\n        for _ in range(5000):\n            os.dup(0)\n    return answer(attempt(many))";
    be_alone_in_its_world &["1 1000 1000 metnos"] => "    return answer(f'{os.getpid()} {os.getuid()} {os.getgid()} {os.uname().nodename}')";
} }

attacks! { ARMED: SayArmed {
    armed_trace_and_read_others FORBIDDEN => "    return answer([syscall(nr['ptrace'], 0, 0, 0, 0), syscall(nr['ptrace'], 16, 1, 0, 0), syscall(nr['process_vm_readv'], 1, 0, 0, 0, 0, 0), syscall(nr['kcmp'], 1, 1, 0, 0, 0)])";
    armed_io_uring FORBIDDEN => "    return answer(syscall(nr['io_uring_setup'], 4, bytes(120)))";
    armed_wide_doors FORBIDDEN => "    return answer([syscall(nr[name], 0, 0, 0, 0, 0) for name in ('bpf', 'perf_event_open', 'userfaultfd', 'keyctl', 'add_key', 'init_module', 'finit_module', 'kexec_load', 'reboot', 'swapon', 'quotactl', 'acct', 'syslog', 'fanotify_init', 'vmsplice', 'iopl', 'modify_ldt') if name in nr])";
    armed_new_namespaces FORBIDDEN => "    return answer([syscall(nr['unshare'], flag) for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000)] + [syscall(nr['setns'], 3, 0)])";
    armed_clone_into_namespaces FORBIDDEN => "    return answer([syscall(nr['clone'], flags, 0, 0, 0, 0) for flags in (17, 0x10000011, 0x3d0f00 | 0x20000000, 0x4111)])";
    armed_clone3 &["ENOSYS"] => "    return answer(syscall(nr['clone3'], bytes(88), 88))";
    armed_mounts_old_and_new FORBIDDEN => "    return answer([syscall(nr['mount'], b'proc', b'/tmp', b'proc', 0, 0), syscall(nr['umount2'], b'/workspace', 2), syscall(nr['open_tree'], -100, b'/', 1), syscall(nr['fsopen'], b'proc', 0), syscall(nr['move_mount'], 3, b'', -100, b'/tmp', 4), syscall(nr['pivot_root'], b'/tmp', b'/tmp'), syscall(nr['chroot'], b'/tmp')])";
    armed_executing FORBIDDEN => "    path = sys.executable.encode()\n    return answer([syscall(nr['execve'], path, 0, 0), syscall(nr['execveat'], -100, path, 0, 0, 0), syscall(nr['execveat'], os.open(sys.executable, os.O_RDONLY), b'', 0, 0, 0x1000), syscall(nr['memfd_create'], b'x', 0), syscall(nr['memfd_secret'], 0)])";
    armed_the_starting_descriptor_is_gone &["EBADF", "EPERM"] => "    return answer([syscall(nr['execveat'], 200, b'', 0, 0, 0x1000), attempt(os.dup2, 0, 200)])";
    armed_the_limit_of_descriptors_stays FORBIDDEN => "    return answer(syscall(nr['prlimit64'], 0, 7, (1024).to_bytes(8, 'little') * 2, 0))";
    armed_code_out_of_nothing FORBIDDEN => "    return answer([syscall(nr['mmap'], 0, 4096, 7, 0x22, -1, 0), syscall(nr['mmap'], 0, 4096, 5, 0x22, -1, 0), syscall(nr['mprotect'], 0, 4096, 5)])";
    armed_code_out_of_a_file FORBIDDEN => "    with open(ctx.tmp + '/code', 'wb') as file:\n        file.write(bytes(4096))\n    files = [os.open(ctx.tmp + '/code', os.O_RDONLY), os.open(ctx.workspace + '/notes/welcome.md', os.O_RDONLY), os.open('/dev/zero', os.O_RDONLY), os.open(os.__file__, os.O_RDONLY)]\n    return answer([syscall(nr['mmap'], 0, 4096, 5, 2, file, 0) for file in files])";
    armed_identities FORBIDDEN => "    return answer([syscall(nr['setuid'], 0), syscall(nr['setresuid'], 0, 0, 0), syscall(nr['setgroups'], 0, 0), syscall(nr['capset'], bytes(8), bytes(24)), syscall(nr['personality'], 0x0400000)])";
    armed_rules_in_force FORBIDDEN => "    return answer([syscall(nr['seccomp'], 1, 8, 0), syscall(nr['prctl'], 22, 2, 0), syscall(nr['prctl'], 4, 1), syscall(nr['prctl'], 36, 1), syscall(nr['prctl'], 1, 0), syscall(nr['landlock_restrict_self'], 3, 0)])";
    armed_signals_to_others FORBIDDEN => "    return answer([syscall(nr['kill'], -1, 9), syscall(nr['tkill'], 1, 9), syscall(nr['rt_sigqueueinfo'], 1, 9, bytes(128)), syscall(nr['pidfd_open'], 1, 0), syscall(nr['pidfd_getfd'], 3, 0, 0), syscall(nr['pidfd_send_signal'], 3, 9, 0, 0)])";
    armed_sockets_and_descriptors_away FORBIDDEN => "    return answer([syscall(nr['socket'], 1, 1, 0), syscall(nr['socket'], 16, 3, 0), syscall(nr['socketpair'], 1, 1, 0, bytes(8)), syscall(nr['sendmsg'], 3, bytes(56), 0)])";
    armed_memory_and_queues_that_stay FORBIDDEN => "    return answer([syscall(nr['shmget'], 1, 4096, 0o1600), syscall(nr['semget'], 1, 1, 0o1600), syscall(nr['msgget'], 1, 0o1600), syscall(nr['mq_open'], b'x', 0o102, 0o600, 0)])";
    armed_files_by_handle FORBIDDEN => "    return answer([syscall(nr['name_to_handle_at'], -100, b'/', bytes(128), bytes(4), 0), syscall(nr['open_by_handle_at'], 3, bytes(128), 0)])";
    armed_links_and_nodes FORBIDDEN => "    return answer([syscall(nr['linkat'], -100, b'/workspace/notes/welcome.md', -100, b'/tmp/w', 0), syscall(nr['symlinkat'], b'/etc', -100, b'/tmp/e'), syscall(nr['mknodat'], -100, b'/tmp/n', 0o20666, 257)])";
    armed_terminals_with_high_bits FORBIDDEN => "    return answer([syscall(nr['ioctl'], 0, 0x5412 | high << 32, b'x') for high in (0, 1, 0x7fffffff)])";
    armed_clocks FORBIDDEN => "    return answer([syscall(nr['clock_settime'], 0, bytes(16)), syscall(nr['settimeofday'], bytes(16), 0)])";
    armed_out_of_the_root_by_openat2 &["ENOENT", "EACCES"] => "    how = (0).to_bytes(24, 'little')\n    return answer([syscall(nr['openat2'], -100, path, how, 24) for path in (b'/etc/passwd', b'/workspace/../../etc/passwd', b'/proc/self/root/etc/passwd')])";
} }
