//! In a real terminal: single keys, colours, an editor, and the terminal as it was afterwards.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::{Workspace, text, upper};

/// A program that has a terminal to itself, on which somebody types.
struct Terminal {
    child: Child,
    keys: File,
    /// The other end, which keeps the terminal alive.
    own: OwnedFd,
    shown: Arc<Mutex<Vec<u8>>>,
    /// What was waited for already.
    seen: usize,
}

impl Terminal {
    /// Starts a program as the leader of a session that has the terminal.
    fn start(plain: &Command) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap().into_string().unwrap();
        let own: OwnedFd = File::options().read(true).write(true).open(&name).unwrap().into();
        // Narrow, as some are.
        tcsetwinsize(&own, Winsize { ws_row: 10, ws_col: 30, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--wait", "--ctty"]).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(plain.get_current_dir().unwrap()).env("TERM", "xterm").env_remove("NO_COLOR");
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let end = || Stdio::from(own.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, growing) = (File::from(keys.try_clone().unwrap()), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                growing.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Self { child, keys: keys.into(), own, shown, seen: 0 }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).replace("\r\n", "\n")
    }

    /// Waits until this is shown, after what was waited for before. Colours do not count.
    #[track_caller]
    fn shows(&mut self, part: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let plain = anstream::adapter::strip_str(&self.text()).to_string();
            if let Some(at) = plain[self.seen..].find(part) {
                self.seen += at + part.len();
                return;
            }
            assert!(Instant::now() < until, "{part:?} is not shown after {} bytes in:\n{plain}", self.seen);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Types once single keys are read.
    #[track_caller]
    fn asks(&mut self, question: &str, keys: &str) {
        self.shows(question);
        let until = Instant::now() + Duration::from_secs(60);
        while self.modes().contains(LocalModes::ICANON) {
            assert!(Instant::now() < until, "it reads no single keys");
            std::thread::sleep(Duration::from_millis(2));
        }
        self.types(keys);
    }

    fn modes(&self) -> LocalModes {
        tcgetattr(&self.own).unwrap().local_modes
    }

    /// Waits for its end, after which the terminal is as it was.
    #[track_caller]
    fn ends(mut self, status: i32, modes: LocalModes) -> String {
        let ended = self.child.wait().unwrap();
        assert_eq!(ended.code(), Some(status), "{}", self.text());
        assert_eq!(self.modes(), modes, "the terminal is as it was");
        std::thread::sleep(Duration::from_millis(50));
        self.text()
    }
}

/// A way to end the program.
type Quit<'q> = &'q dyn Fn(&mut Terminal);

/// The process that asks: the only one beneath the one that was started.
fn asking(terminal: &Terminal) -> Pid {
    let parent = terminal.child.id();
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().map_or(parent, |id| id.parse().unwrap()).cast_signed()).unwrap()
}

#[test]
fn single_keys_decide_and_the_changes_are_in_colour() {
    let here = Workspace::of_words();
    here.stage();
    let mut terminal = Terminal::start(&here.command(&["review"]));
    let modes = terminal.modes();
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
    terminal.asks("file 1 of 2: a.txt (edit), change 1 of 5\n@@ -1,4 +1,4 @@\n-one\n+ONE\n -0\n", "y");
    terminal.asks("take this change? [y,n,a,d,A,D,e,u,q,?] ", "n");
    // Keys of several characters are none: this is an arrow, whose last is the one for all that follow.
    terminal.asks("change 3 of 5", "\x1b[A");
    terminal.shows("  A  take it and all that follow, of all files\n");
    terminal.asks("change 3 of 5", "é");
    terminal.asks("change 3 of 5", "u");
    terminal.asks("change 2 of 5", "d");
    terminal.asks("file 2 of 2: b.txt (edit), change 1 of 2", "a");
    terminal.asks("taken of 2 files: 2\n", "d");
    terminal.shows("the rest is discarded\n");
    let shown = terminal.ends(0, modes);
    assert!(shown.contains("\x1b[32m") && shown.contains("\x1b[31m"), "{shown:?}");
    here.has("a.txt", &upper(&[0]));
    here.has("b.txt", &text(&["ONE", "TWO"]));
}

#[test]
fn an_interrupt_leaves_the_terminal_and_the_transaction_as_they_were() {
    let here = Workspace::of_words();
    let id = here.stage();
    let ways: [(&str, Quit<'_>); 5] = [
        ("Ctrl-C", &|terminal| terminal.types("\x03")),
        ("Ctrl-\\", &|terminal| terminal.types("\x1c")),
        ("Ctrl-D", &|terminal| terminal.types("\x04")),
        ("SIGTERM", &|terminal| kill_process(asking(terminal), Signal::TERM).unwrap()),
        ("SIGHUP", &|terminal| kill_process(asking(terminal), Signal::HUP).unwrap()),
    ];
    for (how, quit) in ways {
        for line in [&["review"][..], &["apply", "plan.json", "--pick"]] {
            let mut terminal = Terminal::start(&here.command(line));
            let modes = terminal.modes();
            terminal.asks("change 1 of 5", "y");
            terminal.asks("change 2 of 5", "");
            assert!(!terminal.modes().intersects(LocalModes::ICANON | LocalModes::ECHO));
            quit(&mut terminal);
            let shown = terminal.ends(130, modes);
            assert!(shown.ends_with("nothing was changed\n"), "{how}: {shown}");
            assert_eq!(here.open(), [id.as_str()], "{how}, {line:?}");
        }
    }
    here.has("a.txt", &upper(&[]));
}

#[test]
fn the_editor_has_the_terminal_and_its_interrupts() {
    let here = Workspace::of_words();
    here.stage();
    let editor = "trap : INT; echo editing; until read line; do :; done; echo \"$line\" > \"$1\"";
    here.editor(editor);
    let mut command = here.command(&["review", "--rest", "discard"]);
    command.env("EDITOR", here.path().join("editor")).env_remove("VISUAL");
    let mut terminal = Terminal::start(&command);
    let modes = terminal.modes();
    terminal.asks("change 1 of 5", "e");
    terminal.shows("editing\n");
    assert_eq!(terminal.modes(), modes);
    terminal.types("\x03");
    terminal.types("mine\n");
    terminal.asks("change 2 of 5", "q");
    terminal.ends(0, modes);
    here.has("a.txt", &upper(&[]).replace("one\n", "mine\n"));
}

#[test]
fn a_plan_on_standard_input_is_picked_on_the_terminal() {
    let here = Workspace::of_words();
    let program = here.command(&[]).get_program().to_str().unwrap().to_owned();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("'{program}' apply - --pick < plan.json")]).current_dir(here.path());
    for (name, value) in here.command(&[]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut terminal = Terminal::start(&shell);
    let modes = terminal.modes();
    terminal.asks("change 1 of 5", "a");
    terminal.asks("change 1 of 2", "n");
    terminal.asks("change 2 of 2", "n");
    terminal.asks("commit? [y,k,n,u,?] ", "y");
    terminal.ends(0, modes);
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]));
    here.has("b.txt", &text(&["one", "two"]));
    assert!(here.open().is_empty());
}
