//! What one may not do that may write the workspace.

use super::{Attack, Must};

const READ_ONLY: &[&str] = &["EROFS", "EACCES"];
const FORBIDDEN: &[&str] = &["EPERM"];

macro_rules! attacks {
    ($name:ident: $must:ident { $($attack:ident $answers:expr => $code:expr;)+ }) => {
        pub const $name: &[Attack] =
            &[$(Attack { name: stringify!($attack), code: concat!("def run(args, ctx):\n    nr = args['nr']\n    write = os.O_CREAT | os.O_WRONLY\n    pool = ctx.workspace + '/executors'\n", $code), must: Must::$must($answers) },)+];
    };
}

attacks! { ALL: SayWriting {
    write_among_the_executors READ_ONLY => "    return answer([attempt(os.open, pool + '/new', write), attempt(os.mkdir, pool + '/fs_evil'), attempt(os.open, pool + '/none/readme', os.O_RDWR), attempt(os.unlink, pool + '/none/readme'), attempt(os.truncate, pool + '/none/readme', 0)])";
    move_the_executors_away &["EBUSY", "EROFS", "EXDEV"] => "    return answer([attempt(os.rename, pool, ctx.workspace + '/old'), attempt(os.rename, pool + '/none', ctx.workspace + '/old'), attempt(os.rmdir, pool)])";
    put_something_in_their_place &["EBUSY", "EXDEV", "EROFS"] => "    os.makedirs(ctx.workspace + '/mine', exist_ok=True)\n    return answer([attempt(os.rename, ctx.workspace + '/mine', pool), attempt(os.rename, ctx.workspace + '/mine', pool + '/mine')])";
    write_outside_the_workspace READ_ONLY => "    return answer([attempt(os.open, path, write) for path in ('/x', '/metnos/main.py', '/metnos/x', '/dev/x', '/usr/x')])";
    climb_out_and_write &["EROFS", "EACCES", "ENOENT"] => "    return answer([attempt(os.open, ctx.workspace + path, write) for path in ('/../x', '/../.policy/instance.key', '/../../etc/cron.d/x')])";
    leave_a_link FORBIDDEN => "    return answer([attempt(os.symlink, '/etc/passwd', ctx.workspace + '/l'), attempt(os.link, ctx.workspace + '/notes/welcome.md', ctx.workspace + '/h')])";
    leave_a_pipe_or_device FORBIDDEN => "    return answer([attempt(os.mkfifo, ctx.workspace + '/p'), attempt(os.mknod, ctx.workspace + '/n', 0o20666, 259)])";
    write_through_a_link &["ELOOP"] => "    return answer([attempt(os.open, ctx.workspace + '/notes/' + name, write) for name in ('link', 'up', 'inside')])";
    give_a_file_to_somebody FORBIDDEN => "    os.close(os.open(ctx.workspace + '/given', write))\n    return answer([attempt(os.chown, ctx.workspace + '/given', 0, 0), attempt(os.setxattr, ctx.workspace + '/given', 'user.x', b'x')])";
    execute_what_it_wrote FORBIDDEN => "    path = ctx.workspace + '/program'\n    with open(path, 'w') as file:\n        file.write('#!' + sys.executable)\n    os.chmod(path, 0o755)\n    return answer(attempt(os.execv, path, [path]))";
    write_a_file_without_end &["EFBIG"] => "    import signal\n    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n    file = os.open(ctx.workspace + '/endless', write)\n    try:\n        return answer(attempt(os.truncate, file, 1 << 40))\n    finally:\n        os.unlink(ctx.workspace + '/endless')";
} }

attacks! { ARMED: SayWritingArmed {
    armed_code_out_of_what_it_wrote FORBIDDEN => "    path = ctx.workspace + '/code'\n    with open(path, 'wb') as file:\n        file.write(bytes(4096))\n    return answer([syscall(nr['mmap'], 0, 4096, 5, 2, os.open(path, os.O_RDONLY), 0), syscall(nr['execve'], path.encode(), 0, 0)])";
    armed_uncovering_the_executors FORBIDDEN => "    return answer([syscall(nr['umount2'], b'/workspace/executors', 2), syscall(nr['move_mount'], -100, b'/workspace/executors', -100, b'/tmp', 0), syscall(nr['mount'], b'', b'/workspace/executors', b'', 0x1020, 0)])";
    armed_exchanging_the_executors &["EBUSY", "EXDEV", "EROFS"] => "    os.makedirs(ctx.workspace + '/other', exist_ok=True)\n    return answer(syscall(316, -100, b'/workspace/other', -100, b'/workspace/executors', 2) if os.uname().machine == 'x86_64' else 'EBUSY')";
} }
