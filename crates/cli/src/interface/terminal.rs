//! The terminal: its modes, which are reset however the program ends, and the main loop of the interface.

use super::draw::draw;
use super::files::written;
use super::layout::View;
use super::model::{Effect, Event, Model};
use super::sampling::{Growth, Order, Reader};
use super::seen::Seen;
use super::theme::Theme;
use crate::failure::{Exit, Failure, Outcome};
use crate::replay::Replay;
use crate::session::Session;
use crate::signals::{self, Signals, end_by};
use perfhive_view::drawing::{Drawing, GLYPH, Shape};
use perfhive_view::palette::Rgb;
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::{cursor, event, execute, terminal};
use std::io::{self, IsTerminal as _, Write as _};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

/// A source that is shown.
pub(crate) struct Shown {
    pub(crate) address: String,
    pub(crate) session: Session,
    /// The schedule by which a recording is shown; `None` if it is shown at once.
    pub(crate) replay: Option<Replay>,
    /// The files of a recording; samples that are appended to them are read, too. `None` if they are not watched.
    pub(crate) growth: Option<Growth>,
}

/// The arguments with which the interface is started.
pub(crate) struct Start {
    /// The sources, at least one.
    pub(crate) sources: Vec<Shown>,
    pub(crate) view: View,
    pub(crate) interval: Duration,
    pub(crate) theme: Theme,
}

/// A message to the loop.
pub(super) enum Message {
    Event(Event),
    /// An event of the source with this number.
    Source(usize, Event),
    Signal(signals::Event),
    /// A signal asks the program to stop until it is continued, as Ctrl-Z does elsewhere.
    #[cfg(unix)]
    Stop,
    /// A thread that reads a source has panicked.
    Broken,
    /// The terminal is closed.
    Gone,
}

/// The most messages that wait for the loop.
const WAITING: usize = 32;
/// The longest time that a signal that ends the program waits for the loop to reset the terminal.
const PATIENCE: Duration = Duration::from_secs(2);
/// The shortest time between two drawings of the screen.
const PAUSE: Duration = Duration::from_millis(30);

/// Whether the terminal is in the modes of the interface.
static IS_CHANGED: AtomicBool = AtomicBool::new(false);

/// Sets the terminal to the modes of the interface: keys come at once, the alternate screen is shown without a
/// cursor, and mouse events and pastes are reported.
fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    IS_CHANGED.store(true, Ordering::SeqCst);
    execute!(
        io::stdout(),
        terminal::EnterAlternateScreen,
        event::EnableMouseCapture,
        event::EnableBracketedPaste,
        cursor::Hide
    )
}

/// Resets the terminal if [`enter`] has set it, and ignores errors; further calls do nothing.
fn leave() {
    if IS_CHANGED.swap(false, Ordering::SeqCst) {
        let _ = execute!(
            io::stdout(),
            event::DisableBracketedPaste,
            event::DisableMouseCapture,
            terminal::LeaveAlternateScreen,
            cursor::Show
        );
        let _ = terminal::disable_raw_mode();
    }
}

/// A guard that resets the terminal when it is dropped.
struct Modes;

impl Drop for Modes {
    fn drop(&mut self) {
        leave();
    }
}

/// Whether the interface can run on this terminal: standard input and output are terminals, and TERM is not `dumb`.
pub(crate) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}

/// Runs the interface until it ends.
pub(crate) fn run(start: Start) -> Outcome {
    if !is_possible() {
        let what = "view needs a terminal that can move its cursor; perfhive watch prints tables";
        return Err(Failure::Usage(what.to_string()));
    }
    let Start { sources, view, interval, theme } = start;
    let (events, messages) = sync_channel(WAITING);
    let (mut readers, mut seen) = (Vec::new(), Vec::new());
    let are_several = sources.len() > 1;
    for Shown { address, session, replay, growth } in sources {
        let reader = Reader::new(session, interval, events.clone())?;
        let mut reader = reader.with_replay(replay).with_growth(growth);
        let machine = if are_several { reader.machine() } else { String::new() };
        seen.push(Seen::new(&address, &machine, reader.is_live()));
        readers.push(reader);
    }
    let mut model = Model::new(view, seen, interval);
    let mut orders = Vec::new();
    let (ended, reading) = channel::<()>();
    for (number, (reader, seen)) in readers.into_iter().zip(&model.sources).enumerate() {
        let (order, ordered) = channel();
        orders.push(order);
        let reader = match are_several {
            true => reader.among(number, &seen.machine, &seen.label),
            false => reader,
        };
        let (broken, ended) = (events.clone(), ended.clone());
        std::thread::spawn(move || {
            let read = std::panic::AssertUnwindSafe(|| reader.run(&ordered));
            if std::panic::catch_unwind(read).is_err() {
                let _ = broken.send(Message::Broken);
            }
            drop(ended);
        });
    }
    drop(ended);
    let signals = Signals::listen_with(PATIENCE);
    let heard = events.clone();
    std::thread::spawn(move || {
        loop {
            let event = signals.wait_until(Instant::now() + Duration::from_secs(3600));
            let is_news = event != signals::Event::Timeout;
            if is_news && heard.send(Message::Signal(event)).is_err() {
                return;
            }
        }
    });
    #[cfg(unix)]
    hear_stops(events.clone());
    // A panic is printed after the terminal was reset.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        before(panic);
    }));
    let modes = Modes;
    enter()?;
    std::thread::spawn(move || keys(&events));
    let outcome = Loop::new(&mut model, theme, orders)?.run(&messages);
    drop(modes);
    // The threads complete a recording in progress; a source that hangs is not waited for.
    drop(messages);
    let _ = reading.recv_timeout(PATIENCE);
    match outcome? {
        Some(signal) => end_by(signal),
        None => Ok(Exit::Done),
    }
}

/// Begins to pass signals to stop (SIGTSTP) on to the loop, which resets the terminal before the program stops.
#[cfg(unix)]
fn hear_stops(events: super::sampling::Events) {
    let stops = [signal_hook::consts::SIGTSTP];
    // Where that is not possible the signal has its usual effect.
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(stops) {
        std::thread::spawn(move || signals.forever().all(|_| events.send(Message::Stop).is_ok()));
    }
}

/// Passes keys, mouse events, pasted texts and new sizes of the terminal on to the loop, until the loop has ended
/// or the terminal is closed.
fn keys(events: &super::sampling::Events) {
    loop {
        let message = match event::read() {
            Ok(event::Event::Key(key)) => Message::Event(Event::Key(key)),
            Ok(event::Event::Mouse(mouse)) => Message::Event(Event::Mouse(mouse)),
            Ok(event::Event::Paste(text)) => Message::Event(Event::Paste(text)),
            Ok(event::Event::Resize(width, height)) => Message::Event(Event::Resize(width, height)),
            Ok(_) => continue,
            Err(_) => Message::Gone,
        };
        let is_end = matches!(message, Message::Gone);
        if events.send(message).is_err() || is_end {
            return;
        }
    }
}

/// The main loop, the only code that changes the model and the terminal.
struct Loop<'a> {
    model: &'a mut Model,
    theme: Theme,
    /// The channels to the threads that read the sources, in the order of the sources' numbers.
    orders: Vec<Sender<Order>>,
    /// The terminal on which the interface is drawn. It is never dropped: dropping it would show the cursor, which
    /// [`leave`] does, and would panic if the terminal is closed and standard error with it.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Out>>>,
}

/// The reason why the loop ends.
enum End {
    Quit,
    Signal(i32),
    Broken,
}

impl<'a> Loop<'a> {
    fn new(model: &'a mut Model, theme: Theme, orders: Vec<Sender<Order>>) -> io::Result<Self> {
        let out = Out { frame: Vec::new(), is_sixteen: theme == Theme::Sixteen };
        let terminal = ManuallyDrop::new(Terminal::new(CrosstermBackend::new(out))?);
        let mut this = Self { model, theme, orders, terminal };
        this.draw_anew()?;
        Ok(this)
    }

    /// Makes the next drawing replace the whole screen. (`Terminal::clear` would ask the terminal for its cursor's
    /// position, and the thread that reads keys would take the answer.)
    fn draw_anew(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.model.size = (size.width, size.height);
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }

    /// Runs the loop to its end; returns the signal that ended it, if there was one.
    fn run(&mut self, messages: &Receiver<Message>) -> Result<Option<i32>, Failure> {
        self.order(None, &Order::Paths(self.model.paths()));
        self.draw()?;
        let mut drawn = Instant::now();
        let mut is_stale = false;
        loop {
            let left = PAUSE.saturating_sub(drawn.elapsed());
            let message = match is_stale {
                true => messages.recv_timeout(left),
                false => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(message) => {
                    is_stale = true;
                    match self.take(message)? {
                        None => {}
                        Some(End::Quit) => return Ok(None),
                        Some(End::Signal(signal)) => return Ok(Some(signal)),
                        // The panic was already printed.
                        Some(End::Broken) => return Err(Failure::Said(Exit::Source)),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if drawn.elapsed() >= PAUSE {
                self.draw()?;
                (drawn, is_stale) = (Instant::now(), false);
            }
        }
    }

    /// Gives an order to the thread that reads the source with this number, or for `None` to the threads of all
    /// sources.
    fn order(&self, source: Option<usize>, order: &Order) {
        for (number, orders) in self.orders.iter().enumerate() {
            if source.is_none_or(|source| source == number) {
                // If the thread has ended, it sends a message itself.
                let _ = orders.send(order.clone());
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let (model, theme) = (&*self.model, self.theme);
        let mut hits = Vec::new();
        self.terminal.draw(|frame| hits = draw(model, theme, frame))?;
        self.model.hits = hits;
        Ok(())
    }

    /// Handles a message; returns why the loop ends, `None` if it goes on.
    fn take(&mut self, message: Message) -> io::Result<Option<End>> {
        let (source, event) = match message {
            Message::Event(event) => (0, event),
            Message::Source(source, event) => (source, event),
            Message::Signal(signals::Event::End(signal)) => return Ok(Some(End::Signal(signal))),
            Message::Signal(signals::Event::Continued) => {
                // The program was stopped from outside, and the shell has set other modes.
                leave();
                enter()?;
                self.draw_anew()?;
                return Ok(None);
            }
            Message::Signal(_) => return Ok(None),
            #[cfg(unix)]
            Message::Stop => return self.suspend().map(|()| None),
            Message::Broken => return Ok(Some(End::Broken)),
            Message::Gone => return Err(io::Error::other("the terminal is closed")),
        };
        for effect in self.model.update_from(source, event) {
            if self.effect(effect)? {
                return Ok(Some(End::Quit));
            }
        }
        Ok(None)
    }

    /// Carries out a request of the model; `true` ends the loop.
    fn effect(&mut self, effect: Effect) -> io::Result<bool> {
        match effect {
            Effect::Quit => return Ok(true),
            Effect::Suspend => self.suspend()?,
            Effect::Redraw => self.draw_anew()?,
            Effect::Paths(paths) => self.order(None, &Order::Paths(paths)),
            Effect::Try(path) => self.order(None, &Order::Try(path)),
            Effect::Interval(interval) => self.order(None, &Order::Interval(interval)),
            Effect::Look { source, from, at, every } => {
                self.order(Some(source), &Order::Look { from, at, every });
            }
            Effect::Near { source, window, samples } => {
                self.order(Some(source), &Order::Near { window, samples });
            }
            Effect::Browse => self.order(None, &Order::Browse),
            Effect::Instances(place, object, source) => {
                self.order(source, &Order::Instances(place, object));
            }
            Effect::Record { source, file } => self.order(Some(source), &Order::Record(file)),
            Effect::Write { file, text, existing } => {
                let note = written(&file, &text, existing);
                self.model.update(Event::Note(note));
            }
            Effect::Screenshot(file, existing) => {
                let (width, height) = self.model.size;
                let buffer = screen(self.model, self.theme, width, height);
                let note = written(&file, &picture(&buffer).svg(), existing);
                self.model.update(Event::Note(note));
            }
            Effect::Open(file) => {
                let view = View::text_of(&file).map_err(|error| error.to_string());
                match view.and_then(|text| View::parse(&text)) {
                    Ok(view) => {
                        self.model.show(view);
                        self.order(None, &Order::Paths(self.model.paths()));
                    }
                    Err(why) => drop(self.model.update(Event::Refused { file, why })),
                }
            }
            Effect::Copy(text) => {
                let mut out = io::stdout().lock();
                // The terminal receives the text (OSC 52), even if it is on another machine.
                write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
                out.flush()?;
            }
        }
        Ok(false)
    }

    #[cfg(unix)]
    fn suspend(&mut self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if rustix::process::getsid(None) == Ok(rustix::process::getpid()) {
            let note = "there is no shell in which the program could go on".to_string();
            self.model.update(Event::Note(note));
            return Ok(());
        }
        leave();
        let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
        enter()?;
        self.draw_anew()
    }

    #[cfg(not(unix))]
    fn suspend(&mut self) -> io::Result<()> {
        self.model.update(Event::Note("this system does not suspend programs".to_string()));
        Ok(())
    }
}

/// The output to the terminal, which is written a whole frame at a time.
struct Out {
    frame: Vec<u8>,
    /// Whether the terminal has only sixteen colours. Such a terminal may not know the sequences that crossterm
    /// writes for them.
    is_sixteen: bool,
}

impl io::Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.frame);
        let mut out = io::stdout().lock();
        match self.is_sixteen {
            true => out.write_all(in_sixteen(&String::from_utf8_lossy(&frame)).as_bytes())?,
            false => out.write_all(&frame)?,
        }
        self.frame = frame;
        self.frame.clear();
        out.flush()
    }
}

/// A frame in which the first sixteen of 256 colours, as colours of letters, are written as sequences that every
/// terminal with colours knows. Colours of the ground stay as they are; the interface sets none.
fn in_sixteen(frame: &str) -> String {
    const BEGIN: &str = "\x1b[38;5;";
    let mut parts = frame.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        match number.parse::<u8>() {
            Ok(number @ 0..=7) => out.push_str(&format!("\x1b[{}", 30 + number)),
            Ok(number @ 8..=15) => out.push_str(&format!("\x1b[{}", 82 + number)),
            _ => out.push_str(&format!("{BEGIN}{number}")),
        }
        out.push_str(rest);
    }
    out
}

/// The cells of the screen as drawn on a terminal of this size.
pub(super) fn screen(model: &Model, theme: Theme, width: u16, height: u16) -> Buffer {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| drop(draw(model, theme, frame)));
    terminal.backend().buffer().clone()
}

const GROUND: Rgb = (24, 26, 31);
const LETTER: Rgb = (220, 223, 228);

/// A drawing of a screen. Each run of cells with one colour and without blanks is one text.
pub(super) fn picture(buffer: &Buffer) -> Drawing {
    let area = buffer.area;
    let (wide, high) = (GLYPH.0, GLYPH.1);
    let (width, height) =
        (f32::from(area.width) * wide + 16.0, f32::from(area.height) * high + 16.0);
    let mut shapes = vec![Shape::Rectangle { x: 0.0, y: 0.0, width, height, colour: GROUND }];
    for y in 0..area.height {
        let top = 8.0 + f32::from(y) * high;
        let mut piece: Option<(u16, Rgb, String)> = None;
        let mut grounds = Vec::new();
        let mut texts = Vec::new();
        let mut x = 0;
        while x < area.width {
            let Some(cell) = buffer.cell((x, y)) else { break };
            let columns = cell.symbol().width().max(1) as u16;
            let (mut letter, mut ground) = (rgb(cell.fg, LETTER), rgb(cell.bg, GROUND));
            if cell.modifier.contains(Modifier::REVERSED) {
                (letter, ground) = (ground, letter);
            }
            let left = |x: u16| 8.0 + f32::from(x) * wide;
            if ground != GROUND {
                grounds.push(Shape::Rectangle {
                    x: left(x),
                    y: top,
                    width: f32::from(columns) * wide,
                    height: high,
                    colour: ground,
                });
            }
            let is_blank = cell.symbol().trim().is_empty();
            let goes_on = piece.as_ref().is_some_and(|(_, known, _)| *known == letter);
            if is_blank || !goes_on {
                texts.extend(piece.take());
            }
            if !is_blank {
                piece.get_or_insert((x, letter, String::new())).2.push_str(cell.symbol());
            }
            x += columns;
        }
        texts.extend(piece);
        shapes.extend(grounds);
        shapes.extend(texts.into_iter().map(|(x, colour, text)| Shape::Text {
            x: 8.0 + f32::from(x) * wide,
            y: top + 12.5,
            text,
            end: false,
            colour,
        }));
    }
    Drawing { width, height, shapes }
}

/// The RGB values that most terminals show for a colour; `usual` for the default colour, and for
/// the first sixteen of 256 colours.
fn rgb(colour: Color, usual: Rgb) -> Rgb {
    match colour {
        Color::Rgb(red, green, blue) => (red, green, blue),
        Color::Indexed(index @ 16..=231) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let index = index - 16;
            (level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        Color::Indexed(index @ 232..) => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
        Color::DarkGray => (118, 118, 118),
        Color::Gray | Color::White => (204, 204, 204),
        Color::Black => (12, 12, 12),
        Color::Red | Color::LightRed => (197, 15, 31),
        Color::Green | Color::LightGreen => (19, 161, 14),
        Color::Yellow => (193, 156, 0),
        Color::LightYellow => (249, 241, 165),
        Color::Blue => (0, 55, 218),
        Color::LightBlue => (59, 120, 255),
        Color::Magenta | Color::LightMagenta => (136, 23, 152),
        Color::Cyan | Color::LightCyan => (58, 150, 221),
        Color::Reset | Color::Indexed(_) => usual,
    }
}

/// The bytes in base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            let index = bits >> (18 - 6 * letter) & 63;
            match letter <= three.len() {
                true => out.push(LETTERS.get(index as usize).copied().unwrap_or(b'=').into()),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{base64, in_sixteen};

    #[test]
    fn sixteen_colours_have_sequences_of_their_own() {
        let drawn = "a\x1b[38;5;12;49mb\x1b[38;5;2mc 38;5;3\x1b[38;5;244md\x1b[38;5;";
        let expected = "a\x1b[94;49mb\x1b[32mc 38;5;3\x1b[38;5;244md\x1b[38;5;";
        assert_eq!(in_sixteen(drawn), expected);
    }

    #[test]
    fn bytes_become_base64() {
        let all = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(all, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
