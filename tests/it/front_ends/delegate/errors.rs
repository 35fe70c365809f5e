//! What becomes of a program that does not answer as it should.

use std::fs;
use std::time::{Duration, Instant};

use super::{Office, is_gone, text};

#[test]
fn each_bad_end_has_its_words() {
    let cases = [
        ("echo oops >&2; exit 3", "failed (exit status: 3); the end of its errors:\noops"),
        ("echo answer; exit 1", "failed (exit status: 1)"),
        ("kill -9 $$", "failed (signal: 9"),
        ("true", "ended without an answer"),
        ("echo '{\"role\":\"meta\"}'", "ended without an answer"),
        ("head -c 100000 /dev/urandom", "neither messages nor text"),
        ("printf '{\"role\":\"assistant\",\"content\":\"a\"}\\n{\"role\":\"assistant\",\"content\":\"hal'", "middle"),
        ("printf '{\"role\":\"assistant\",\"content\":\"hal'", "middle"),
        ("echo 'error: provider.rate_limit: 429 rate limit reached' >&2; exit 1", "limits the rate: wait"),
        ("echo 'No model configured. Run `kimi` and use /login to sign in' >&2; exit 1", "`kimi login`"),
        ("echo 'Model \"x\" is not configured in config.toml.' >&2; exit 1", "correct `model`"),
        ("echo 'connect ECONNREFUSED 127.0.0.1:1' >&2; exit 1", "cannot reach its provider"),
    ];
    for (script, words) in cases {
        let failure = Office::with(script).analyze(&["what?"]).failed(5, "DELEGATE_FAILED");
        let error = text(&failure, "error");
        assert!(error.contains(words), "{script}: {error}");
        assert_eq!((text(&failure, "outcome"), failure.get("answer")), ("unchanged", None), "{script}");
    }
}

#[test]
fn a_long_text_of_errors_is_cut_to_its_end() {
    let office = Office::with("i=0; while [ $i -lt 3000 ]; do echo \"line $i\"; i=$((i+1)); done >&2; exit 1");
    let failure = office.analyze(&["what?"]).failed(5, "DELEGATE_FAILED");
    let error = text(&failure, "error");
    assert!(error.len() < 5_000 && error.ends_with("line 2999"), "{} bytes: {error}", error.len());
}

#[test]
fn a_program_that_is_not_there_says_how_to_install_it() {
    let office = Office::with("true");
    let mut command = office.command(&["delegate", "analyze", "what?"]);
    command.env_remove("TXEDIT_DELEGATE_PROGRAM").env("PATH", office.place("tmp"));
    let failure = office.ran(&mut command).failed(5, "DELEGATE_FAILED");
    let error = text(&failure, "error");
    assert!(error.contains("npm install -g @moonshot-ai/kimi-code") && error.contains("kimi login"), "{error}");

    let mut command = office.command(&["delegate", "analyze", "what?"]);
    command.env("TXEDIT_DELEGATE_PROGRAM", office.place("bin/nobody"));
    let failure = office.ran(&mut command).failed(5, "DELEGATE_FAILED");
    assert!(text(&failure, "error").contains("correct `program`"), "{failure:#}");

    let mut command = office.command(&["delegate", "analyze", "what?"]);
    command.env("TXEDIT_DELEGATE_PROGRAM", office.place("config"));
    let failure = office.ran(&mut command).failed(5, "DELEGATE_FAILED");
    assert!(text(&failure, "error").contains("make it executable"), "{failure:#}");
}

#[test]
fn a_hundred_megabytes_are_not_waited_for() {
    let endless = "head -c 100000000 /dev/zero | tr '\\0' x; touch \"$SEEN/finished\"";
    let lines = "i=0; while [ $i -lt 200 ]; do printf '{\"role\":\"tool\",\"content\":\"'; head -c 524288 /dev/zero | \
                 tr '\\0' x; echo '\"}'; i=$((i+1)); done; touch \"$SEEN/finished\"";
    for script in [endless, lines] {
        let office = Office::with(script);
        let failure = office.analyze(&["what?"]).failed(5, "DELEGATE_FAILED");
        assert!(text(&failure, "error").contains("printed more than 67108864 bytes"), "{failure:#}");
        assert!(!office.place("seen/finished").exists(), "it was heard to its end");
    }
}

#[test]
fn what_hangs_is_stopped_with_all_that_it_started() {
    let scripts = [
        "sleep 600 & echo $! >\"$SEEN/child\"; echo $$ >\"$SEEN/self\"; echo thinking >&2; sleep 600",
        // It asks for no time to put things in order, and its child neither.
        "trap '' TERM; sleep 600 & echo $! >\"$SEEN/child\"; echo $$ >\"$SEEN/self\"; echo thinking >&2
         while true; do sleep 1; done",
    ];
    for script in scripts {
        let office = Office::with(script);
        let started = Instant::now();
        let failure = office.analyze(&["--timeout", "0.5", "what?"]).failed(5, "TIMEOUT");
        let error = text(&failure, "error");
        assert!(error.contains("0.5 seconds") && error.ends_with("thinking"), "{error}");
        assert_eq!(failure["retryable"], true);
        assert!(started.elapsed() < Duration::from_secs(30));
        assert!(is_gone(&office.place("seen/self")) && is_gone(&office.place("seen/child")), "{script}");
    }
}

#[test]
fn a_child_that_survives_its_parent_neither_lives_on_nor_holds_up_the_answer() {
    let scripts = [
        "sleep 600 >/dev/null 2>&1 & echo $! >\"$SEEN/child\"; echo done",
        // This one holds the output open.
        "sleep 600 & echo $! >\"$SEEN/child\"; echo done",
    ];
    for script in scripts {
        let office = Office::with(script);
        let started = Instant::now();
        assert_eq!(text(&office.analyze(&["what?"]).done(), "answer"), "done");
        assert!(started.elapsed() < Duration::from_secs(30), "{script}");
        assert!(is_gone(&office.place("seen/child")), "{script}");
    }
}

#[test]
fn a_child_in_a_session_of_its_own_ends_with_the_delegate_too() {
    let office = Office::with("setsid sh -c 'echo $$ >\"$SEEN/child\"; exec sleep 600' & sleep 0.5; echo done");
    assert_eq!(text(&office.analyze(&["what?"]).done(), "answer"), "done");
    assert!(is_gone(&office.place("seen/child")));
}

#[test]
fn a_delegate_has_no_input_and_a_folder_of_its_own() {
    let office = Office::with("read line || echo 'no input'; ls -A; case $(pwd) in \"$TMPDIR\"/*) echo scratch;; esac");
    office.write("a.txt", "a\n");
    let file = office.file("a.txt");
    // What txedit itself can read is not the delegate's.
    let mut command = office.command(&["delegate", "analyze", "what?", "--file", file.to_str().unwrap()]);
    let answer = office.ran(command.stdin(fs::File::open(&file).unwrap())).done();
    assert_eq!(text(&answer, "answer"), "no input\nscratch");
    assert!(office.prompt().contains(&format!("\nFile: {}\n```\na\n```\n", file.display())), "{}", office.prompt());
}

#[test]
fn an_interrupt_stops_the_delegate() {
    let office = Office::with("echo $$ >\"$SEEN/self\"; sleep 600");
    let mut child =
        office.command(&["delegate", "analyze", "what?"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !fs::read_to_string(office.place("seen/self")).is_ok_and(|number| number.ends_with('\n')) {
        assert!(Instant::now() < until, "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(is_gone(&office.place("seen/self")));
}
