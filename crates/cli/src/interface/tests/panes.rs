//! Panes that the user splits, closes and resizes.

use super::*;
use crate::interface::panes::places;
use ratatui_core::layout::Rect;

/// The panes on a screen of 80 x 24 cells: the title, the left column, the upper line, the width and the height of
/// each.
fn shown(model: &Model) -> Vec<(String, u16, u16, u16, u16)> {
    let title = |place: usize| model.view.panes[place].title.clone();
    let all = places(model, Rect::new(0, 1, 80, 22)).into_iter();
    all.map(|(place, at)| (title(place), at.x, at.y, at.width, at.height)).collect()
}

fn draw(model: &mut Model) {
    use ratatui_core::{backend::TestBackend, terminal::Terminal};
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut hits = Vec::new();
    terminal.draw(|frame| hits = crate::interface::draw::draw(model, Theme::True, frame)).unwrap();
    model.hits = hits;
}

fn drag(model: &mut Model, from: (u16, u16), to: (u16, u16)) {
    let button = MouseButton::Left;
    for (kind, (column, row)) in [
        (MouseEventKind::Down(button), from),
        (MouseEventKind::Drag(button), to),
        (MouseEventKind::Up(button), to),
    ] {
        draw(model);
        let modifiers = KeyModifiers::NONE;
        model.update(Event::Mouse(MouseEvent { kind, column, row, modifiers }));
    }
}

#[test]
fn panes_are_split_resized_closed_and_saved() {
    let mut model = model(view(), 31);
    press(&mut model, KeyCode::Char('|'));
    assert_eq!(model.focus, 1);
    model.view.panes[1].title = "right".into();
    model.update(Event::Ready(MEMORY.into()));
    press(&mut model, KeyCode::Char('_'));
    model.view.panes[2].title = "below".into();
    let before = shown(&model);
    assert_eq!(
        before.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(),
        ["Processor", "right", "Memory", "below", "Processes"]
    );
    // The three panes of the first row fill the width, the three rows the height.
    assert_eq!(before[..3].iter().map(|one| one.3).sum::<u16>(), 80);
    assert_eq!([0, 3, 4].iter().map(|row| before[*row].4).sum::<u16>(), 22);
    assert_eq!((before[3].1, before[3].3), (0, 80));
    compare("panes-split.txt", &letters(&model, Theme::True, 80, 24));
    // Keys make the pane larger at the cost of the next one.
    press(&mut model, KeyCode::Char(')'));
    let after = shown(&model);
    assert_eq!((after[3].4, after[4].4), (before[3].4 + 2, before[4].4 - 2));
    press(&mut model, KeyCode::Char('('));
    assert_eq!(shown(&model), before);
    model.focus = 0;
    press(&mut model, KeyCode::Char('}'));
    let after = shown(&model);
    assert_eq!((after[0].3, after[1].3), (before[0].3 + 2, before[1].3 - 2));
    assert_eq!(after[2], before[2]);
    press(&mut model, KeyCode::Char('{'));
    assert_eq!(shown(&model), before);
    // The view comes back from its file with the same places.
    let effects = command(&mut model, "save x.toml");
    let [Effect::Write { text, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let again = super::model(View::parse(text).unwrap(), 31);
    assert_eq!(shown(&again), before);
    for _ in 0..8 {
        press(&mut model, KeyCode::Char('X'));
    }
    assert_eq!(model.view.panes.len(), 1);
    assert!(model.message.contains("last pane"), "{}", model.message);
}

#[test]
fn the_place_of_a_closed_pane_goes_back_to_the_one_that_was_divided() {
    for divide in ['_', '|'] {
        let mut model = model(view(), 31);
        press(&mut model, KeyCode::Char(')'));
        press(&mut model, KeyCode::Char('}'));
        for focus in 0..3 {
            model.focus = focus;
            let before = shown(&model);
            press(&mut model, KeyCode::Char(divide));
            // The other rows keep their places.
            let divided = shown(&model);
            for other in before.iter().filter(|one| one.2 != before[focus].2) {
                let now = divided.iter().find(|one| one.0 == other.0).unwrap();
                assert_eq!(now, other, "{divide} {focus}");
            }
            press(&mut model, KeyCode::Char('X'));
            assert_eq!(shown(&model), before, "{divide} {focus}");
        }
        // The last counter takes its pane along.
        model.focus = 1;
        press(&mut model, KeyCode::Char('d'));
        let left = shown(&model);
        assert_eq!((left.len(), left[0].3), (2, 80));
    }
}

#[test]
fn the_mouse_moves_the_edges_between_panes() {
    let mut model = model(view(), 31);
    let before = shown(&model);
    let (memory, processes) = (before[1].clone(), before[2].clone());
    drag(&mut model, (memory.1, 5), (memory.1 + 9, 5));
    drag(&mut model, (30, processes.2), (30, processes.2 - 4));
    let after = shown(&model);
    assert_eq!((after[0].3, after[1].1, after[1].3), (memory.1 + 9, memory.1 + 9, memory.3 - 9));
    assert_eq!((after[2].2, after[2].4), (processes.2 - 4, processes.4 + 4));
    // A drag of an edge marks no span, and stops at the least size of a pane.
    assert_eq!((model.spans, model.cursor), ([None; 2], None));
    drag(&mut model, (after[1].1, 5), (0, 5));
    assert_eq!(shown(&model)[0].3, 12);
    drag(&mut model, (30, after[2].2), (30, 23));
    assert_eq!(shown(&model)[2].4, 3);
    // A very narrow screen breaks the row.
    let narrow = places(&model, Rect::new(0, 1, 20, 22));
    assert_eq!(narrow.iter().map(|(_, at)| at.width).collect::<Vec<_>>(), [20, 20, 20]);
}
