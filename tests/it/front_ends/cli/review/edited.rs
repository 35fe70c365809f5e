//! Lines that are edited before they are taken.

use super::{Workspace, text, upper};

#[test]
fn the_new_lines_of_a_change_are_edited() {
    let here = Workspace::of_words();
    here.stage();
    let ran = here.answered_with("grep -qx ONE \"$1\" && printf 'Uno\\nprimo' > \"$1\"", &["review"], "e n A k");
    here.has("a.txt", &upper(&[2, 3, 4]).replace("one\n", "Uno\nprimo\n"));
    assert!(
        ran.exits(0).stderr.contains("[y,n,a,d,A,D,e,q,?] e\n\nfile 1 of 2: a.txt (edit), change 2 of 5\n"),
        "{ran:?}"
    );
    // What was edited is no longer proposed.
    let [rest] = &here.open()[..] else { panic!("the second line is left") };
    here.run(&["commit", rest]).exits(0);
    here.has("a.txt", &upper(&[1, 2, 3, 4]).replace("one\n", "Uno\nprimo\n"));
}

#[test]
fn the_content_of_a_new_file_is_edited() {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    here.write("plan.json", r#"{"files": [{"file_path": "new.rs", "content": "fn a() {}\n", "mode": "755"}]}"#);
    here.stage();
    let editor = "case $1 in *.rs) echo '// mine' >> \"$1\";; esac";
    let json = here.answered_with(editor, &["review", "--json"], "e y").exits(0).json();
    here.has("new.rs", "fn a() {}\n// mine\n");
    assert_eq!((&json["rest"], &json["reviewed"][0]["taken"]), (&"none".into(), &"all".into()));
    assert!(here.open().is_empty());
}

#[test]
fn an_edit_that_comes_to_nothing_is_none() {
    let here = Workspace::of_words();
    here.stage();
    for (editor, said) in [
        ("exit 3", "nothing is edited: "),
        ("rm \"$1\"", "nothing is edited: "),
        ("kill -9 $$", "nothing is edited: "),
        ("printf 'one\\n' > \"$1\"", "it is as it was before: the change is left"),
        ("echo said; :", "change 2 of 5"),
    ] {
        let ran = here.answered_with(editor, &["review", "--json"], "e D n");
        let taken = ran.exits(0).json()["reviewed"][0]["changes_taken"].clone();
        assert!(ran.stderr.contains(said), "{editor}: {ran:?}");
        assert_eq!(taken, i32::from(said.starts_with("change")), "{editor}");
    }
    let missing = super::run(here.answering(&["review"], "e D").env("VISUAL", "no-such-editor x"));
    assert!(missing.exits(0).stderr.contains("nothing is edited: no-such-editor x: "), "{missing:?}");
    here.has("a.txt", &upper(&[]));
}

#[test]
fn an_editor_gets_none_of_the_answers() {
    let here = Workspace::of_words();
    here.stage();
    // More than is read ahead.
    let answers = "e n n n n y n d ".to_owned() + &"n ".repeat(9000);
    here.answered_with("cat > \"$1\"; echo x >> \"$1\"", &["review"], &answers).exits(0);
    here.has("a.txt", &upper(&[]).replace("one\n", "x\n"));
    here.has("b.txt", &text(&["ONE", "two"]));
}

#[test]
fn files_that_change_during_the_review_are_not_committed_over() {
    let here = Workspace::of_words();
    let id = here.stage();
    let other = here.path().join("a.txt");
    // In another line: what is staged would fit, but is no longer what was shown.
    let editor = format!("sed -i s/-7/seven/ {}; echo mine > \"$1\"", other.display());
    let ran = here.answered_with(&editor, &["review"], "e A y");
    let error = &ran.exits(3).stderr;
    assert!(error.contains("the files have changed since they were reviewed, and nothing is committed"), "{ran:?}");
    assert!(error.contains(&format!("review it again with `txedit review {id}`")), "{ran:?}");
    assert_eq!(here.open(), [id.as_str()]);
    here.has("a.txt", &upper(&[]).replace("-7", "seven"));
    let ran = here.answered(&["review"], "A y");
    assert!(ran.exits(0).stderr.contains("note: it has changed in other lines since it was staged"), "{ran:?}");
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]).replace("-7", "seven"));
}
