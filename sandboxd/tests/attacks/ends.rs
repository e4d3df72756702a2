//! Attacks that end the run, and under which name.

use metnos_proto::msg::common::Outcome;

use super::{Attack, Must};

macro_rules! ends {
    ($($attack:ident $outcome:ident => $code:expr;)+) => {
        pub const ALL: &[Attack] =
            &[$(Attack { name: stringify!($attack), code: $code, must: Must::End(Outcome::$outcome) },)+];
    };
}

ends! {
    sleep_for_ever Timeout => "def run(args, ctx):\n    time.sleep(1000)\n";
    compute_for_ever CpuExceeded => "def run(args, ctx):\n    while True:\n        pass\n";
    compute_for_ever_and_ignore_the_warning CpuExceeded => "import signal\ndef run(args, ctx):\n    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True:\n        pass\n";
    want_all_memory MemoryExceeded => "def run(args, ctx):\n    held = []\n    while True:\n        held.append(bytearray(1 << 20))\n";
    want_all_memory_and_hide_it Timeout => "def run(args, ctx):\n    held = []\n    try:\n        while True:\n            held.append(bytearray(1 << 20))\n    except MemoryError:\n        time.sleep(1000)\n";
    want_many_threads ProcessesExceeded => "import threading\ndef run(args, ctx):\n    threading.stack_size(65536)\n    while True:\n        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n";
    write_output_for_ever Timeout => "def run(args, ctx):\n    while True:\n        sys.stdout.write('x' * 4096)\n        time.sleep(0.001)\n";
    return_too_much OutputTooLarge => "def run(args, ctx):\n    return answer('x' * (1 << 20))\n";
    announce_gigabytes OutputTooLarge => "def run(args, ctx):\n    os.write(3, b'R' + b'\\xff\\xff\\xff\\x7f')\n    time.sleep(1000)\n";
    give_two_results Crashed => "def run(args, ctx):\n    os.write(3, b'R' + (11).to_bytes(4, 'little') + b'{\"ok\":true}')\n    return answer(1)\n";
    give_half_a_result Crashed => "def run(args, ctx):\n    os.write(3, b'R' + (11).to_bytes(4, 'little') + b'{\"ok\"')\n    os._exit(0)\n";
    give_a_second_result_by_a_thread Crashed => "import threading\ndef run(args, ctx):\n    result = b'R' + (11).to_bytes(4, 'little') + b'{\"ok\":true}'\n    os.write(3, result)\n    thread = threading.Thread(target=os.write, args=(3, result))\n    thread.start()\n    thread.join()\n    os._exit(0)\n";
    give_a_result_and_stay Timeout => "def run(args, ctx):\n    os.write(3, b'R' + (11).to_bytes(4, 'little') + b'{\"ok\":true}')\n    time.sleep(1000)\n";
    give_a_result_and_fail Crashed => "def run(args, ctx):\n    os.write(3, b'R' + (11).to_bytes(4, 'little') + b'{\"ok\":true}')\n    os._exit(3)\n";
    speak_nonsense Crashed => "def run(args, ctx):\n    os.write(3, b'HTTP/1.1 200 OK')\n    time.sleep(1000)\n";
    report_progress_for_ever Crashed => "def run(args, ctx):\n    frame = b'P' + (16).to_bytes(4, 'little') + bytes(16)\n    while True:\n        os.write(3, frame * 2000)\n";
    say_nothing Crashed => "def run(args, ctx):\n    os._exit(0)\n";
    close_the_channel Crashed => "def run(args, ctx):\n    os.close(3)\n    return answer(1)\n";
    raise_an_error Crashed => "def run(args, ctx):\n    raise ValueError('no')\n";
    not_parse Crashed => "def run(args, ctx:\n";
    have_no_entry Crashed => "x = 1\n";
    abort Crashed => "def run(args, ctx):\n    os.abort()\n";
    recurse_for_ever Crashed => "def run(args, ctx):\n    return run(args, ctx)\n";
    return_no_object BadOutput => "def run(args, ctx):\n    return [1]\n";
    return_what_is_no_json BadOutput => "def run(args, ctx):\n    return answer({1, 2})\n";
    return_no_number BadOutput => "def run(args, ctx):\n    return answer(float('nan'))\n";
    return_half_a_character BadOutput => "def run(args, ctx):\n    return answer('\\ud800')\n";
    return_a_circle BadOutput => "def run(args, ctx):\n    circle = []\n    circle.append(circle)\n    return answer(circle)\n";
    pretend_that_the_sandbox_was_not_built Crashed => "def run(args, ctx):\n    os._exit(70)\n";
    blow_the_stack_of_the_parser Crashed => "def run(args, ctx):\n    compile('(' * 100000 + ')' * 100000, 'x', 'eval')\n    os._exit(9)\n";
}
