use proptest::prelude::*;

use super::*;
use crate::text::diff;

fn changed(old: &str, new: &str) -> ChangedLines {
    let runs = diff::changed(old.as_bytes(), new.as_bytes()).unwrap();
    ChangedLines::new(old.into(), new.into(), &runs)
}

/// A row as a line of a diff; of two sides one after the other.
fn drawn(row: &DiffRow) -> String {
    let side = |sign: &str, line: &Line| {
        let text =
            line.text.iter().enumerate().map(|(at, part)| if at % 2 == 1 { format!("[{part}]") } else { part.clone() });
        format!("{sign}{} {}", line.number, text.collect::<String>())
    };
    match (row.kind, &row.old, &row.new) {
        (RowKind::Gap, ..) => format!("@{}", row.hidden.unwrap()),
        (RowKind::Same, Some(old), Some(new)) => format!("{}={}", side(" ", old), new.number),
        (_, old, new) => {
            let sides = [old.as_ref().map(|old| side("-", old)), new.as_ref().map(|new| side("+", new))];
            sides.into_iter().flatten().collect::<Vec<_>>().join("|")
        }
    }
}

fn all(lines: &ChangedLines, view: DiffView) -> Vec<String> {
    lines.piece(view, 0, usize::MAX >> 1, false).iter().map(drawn).collect()
}

#[test]
fn changes_are_shown_with_the_lines_around_them() {
    let old = (1..=20).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    let new = old.replace("line 5\n", "line five\nand more\n").replace("line 20\n", "line 20");
    let lines = changed(&old, &new);
    assert_eq!(lines.counts, (3, 2));
    let unified = all(&lines, DiffView::Unified);
    assert_eq!(
        unified,
        [
            " 1 line 1=1",
            " 2 line 2=2",
            " 3 line 3=3",
            " 4 line 4=4",
            "-5 line [5]",
            "+5 line [five]",
            "+6 and more",
            " 6 line 6=7",
            " 7 line 7=8",
            " 8 line 8=9",
            "@8",
            " 17 line 17=18",
            " 18 line 18=19",
            " 19 line 19=20",
            "-20 line 20",
            "+21 line 20",
        ]
    );
    let split = all(&lines, DiffView::Split);
    assert_eq!(split[4..6], ["-5 line [5]|+5 line [five]", "+6 and more"]);
    assert_eq!(split.len(), unified.len() - 2);
    let first = |run| [DiffView::Unified, DiffView::Split].map(|view| lines.row_of(run, view));
    assert_eq!((first(0), first(1), first(2)), ([Some(4), Some(4)], [Some(14), Some(13)], [None, None]));
    let last = lines.piece(DiffView::Split, split.len() - 1, 9, false);
    assert!(last[0].new.as_ref().unwrap().unended && !last[0].old.as_ref().unwrap().unended);
}

#[test]
fn what_is_not_seen_is_escaped() {
    let lines = changed("a\n", "\u{202e}a\u{200b}\tb\u{1}\n");
    assert_eq!(all(&lines, DiffView::Unified)[1], "+1 \\u{202e}a\\u{200b}\tb\\u{1}");
    // A line break of another kind is shown where it is the difference.
    assert_eq!(all(&changed("a word\nb\n", "a word\r\nb\n"), DiffView::Unified)[1], "+1 a word[\\r]");
    assert_eq!(all(&changed("a\r\nb\r\n", "a\r\nc\r\n"), DiffView::Unified)[2], "+2 c");
    let mangled = ChangedLines::new(Vec::new(), b"\xff\n".to_vec(), &[(0..0, 0..2)]);
    assert_eq!(all(&mangled, DiffView::Unified), ["+1 \u{fffd}"]);
}

#[test]
fn long_lines_are_cut_and_can_be_had_whole() {
    let long = "é".repeat(LINE_CHARS + 7);
    let lines = changed("", &long);
    let cut = lines.piece(DiffView::Unified, 0, 1, false);
    let line = cut[0].new.as_ref().unwrap();
    assert_eq!((line.text[0].chars().count(), line.cut), (LINE_CHARS, Some(7)));
    let whole = lines.piece(DiffView::Unified, 0, 1, true);
    assert_eq!((&whole[0].new.as_ref().unwrap().text[0], whole[0].new.as_ref().unwrap().cut), (&long, None));
}

proptest! {
    #[test]
    fn any_piece_is_that_part_of_all_rows(
        old in prop::collection::vec("[ab]\n", 0..40),
        new in prop::collection::vec("[ab]\n", 0..40),
        from in 0_usize..60,
        count in 1_usize..20,
    ) {
        let lines = changed(&old.concat(), &new.concat());
        for view in [DiffView::Unified, DiffView::Split] {
            let rows = all(&lines, view);
            prop_assert_eq!(rows.len(), lines.rows(view));
            let piece: Vec<_> = lines.piece(view, from, count, false).iter().map(drawn).collect();
            let end = rows.len().min(from + count);
            prop_assert_eq!(&piece[..], &rows[from.min(end)..end]);
        }
    }

    #[test]
    fn the_rows_lead_from_one_content_to_the_other(
        old in prop::collection::vec("[ab]\n", 0..12),
        new in prop::collection::vec("[ab]\n", 0..12),
    ) {
        let lines = changed(&old.concat(), &new.concat());
        let rows = lines.piece(DiffView::Unified, 0, 1_000, false);
        let (mut come, mut go) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| row.kind == RowKind::Changed) {
            let text = |line: &Line| format!("{}\n", line.text.concat());
            go.extend(row.old.as_ref().map(|line| (line.number, text(line))));
            come.extend(row.new.as_ref().map(|line| (line.number, text(line))));
        }
        prop_assert_eq!((come.len(), go.len()), lines.counts);
        prop_assert!(go.iter().all(|(number, text)| old[number - 1] == *text));
        prop_assert!(come.iter().all(|(number, text)| new[number - 1] == *text));
    }
}
