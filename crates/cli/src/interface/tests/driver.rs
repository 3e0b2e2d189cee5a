//! Random keys, clicks, samples and answers in every state of the interface.

use super::several::model_of_two;
use super::*;

/// A small generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// A hundred thousand keys, clicks, samples and answers in every state cause no panic, and Escape and q
/// always end the interface.
#[test]
fn random_events_never_panic_and_never_get_stuck() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(19);
    println!("SEED={seed}");
    let mut random = Random(seed);
    let mut script = Script::new();
    let mut model = model(view(), 10);
    // In the second half a second source answers, too.
    let mut other = Script::new();
    let mut second = 10;
    let (mut width, mut height) = (80, 24);
    let words = [
        "cpu",
        "jump 12:00",
        "view disk",
        "span 2m",
        "scale 3",
        "top 3",
        "kind table",
        "split chart",
        "colour red",
        "threshold 5",
        "zzz",
        "interval 2",
        "marker x",
        "add memory",
    ];
    for number in 0..100_000 {
        if number == 50_000 {
            model = model_of_two(view(), 10);
        }
        let source = if number < 50_000 { 0 } else { number % 2 };
        let event = match random.next(103) {
            0..50 => {
                let binding = &BINDINGS[random.next(BINDINGS.len() as u64) as usize];
                let modifiers =
                    if binding.is_control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
                Event::Key(KeyEvent::new(binding.key, modifiers))
            }
            50..65 => {
                let codes = [
                    KeyCode::Enter,
                    KeyCode::Esc,
                    KeyCode::Backspace,
                    KeyCode::Tab,
                    KeyCode::Right,
                    KeyCode::F(1),
                    KeyCode::Char('y'),
                    KeyCode::Char('ü'),
                ];
                Event::Key(KeyEvent::from(codes[random.next(codes.len() as u64) as usize]))
            }
            65..75 => {
                let kinds = [
                    MouseEventKind::Down(MouseButton::Left),
                    MouseEventKind::Drag(MouseButton::Left),
                    MouseEventKind::Up(MouseButton::Left),
                    MouseEventKind::ScrollUp,
                    MouseEventKind::ScrollDown,
                ];
                Event::Mouse(MouseEvent {
                    kind: kinds[random.next(5) as usize],
                    column: random.next(130) as u16,
                    row: random.next(50) as u16,
                    modifiers: if random.next(3) == 0 {
                        KeyModifiers::CONTROL
                    } else {
                        KeyModifiers::NONE
                    },
                })
            }
            75..83 => {
                second += 1 + random.next(3) as i64;
                let script = if source == 0 { &mut script } else { &mut other };
                Event::Samples(vec![script.sample(second)], Duration::from_millis(2))
            }
            83..86 => Event::Paste(words[random.next(words.len() as u64) as usize].into()),
            86..92 => {
                command(&mut model, words[random.next(words.len() as u64) as usize]);
                continue;
            }
            92 => {
                (width, height) = (random.next(140) as u16 + 1, random.next(50) as u16 + 1);
                Event::Resize(width, height)
            }
            93 => Event::Tree(tree()),
            94 => Event::Instances(1, vec!["bash".into()]),
            95 => Event::Ready(format!(r"\Process(*)\{}", random.next(9))),
            96 => Event::Problem { path: CPU.into(), why: "no".into() },
            97 => Event::Costly {
                path: r"\Costly\X".into(),
                object: "Costly".into(),
                took: Duration::from_millis(9),
                values: 3,
            },
            98 => Event::Rewound,
            99 if random.next(2) == 0 => Event::Elsewhere(CPU.into()),
            99 => Event::Key(KeyEvent::new(KeyCode::Char('a'), KeyModifiers::ALT)),
            100 => Event::Failed((random.next(2) == 0).then(|| "torn".into())),
            101 => Event::Named,
            _ => Event::Loaded { every: random.next(3) },
        };
        for effect in model.update_from(source, event) {
            // The test answers some of the requests.
            match effect {
                Effect::Try(path) => drop(model.update_from(source, Event::Ready(path))),
                Effect::Near { source, window, .. } => {
                    let sample = Script::new().sample((window.to.0 - NOON) / FileTime::PER_SECOND);
                    model.update_from(source, Event::Near(window, vec![sample]));
                    model.update_from(source, Event::NearLoaded(window, 1 + random.next(2)));
                }
                _ => {}
            }
        }
        if number % 100 == 0 {
            let theme = [Theme::Plain, Theme::Sixteen, Theme::True][number / 100 % 3];
            use ratatui_core::{backend::TestBackend, terminal::Terminal};
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let mut hits = Vec::new();
            terminal
                .draw(|frame| hits = crate::interface::draw::draw(&model, theme, frame))
                .unwrap();
            model.hits = hits;
        }
        if number % 500 == 0 {
            for _ in 0..4 {
                press(&mut model, KeyCode::Esc);
            }
            let effects = press(&mut model, KeyCode::Char('q'));
            assert_eq!(effects, [Effect::Quit], "{:?}", model.mode);
        }
        if random.next(400) == 0 {
            model.show(view());
        }
    }
}
