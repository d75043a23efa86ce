//! `sluicegate top`: a running server, live in the terminal.

mod draw;
mod look;
mod screen;

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::admin_client::AdminClient;
use crate::cli::Top;
use crate::exit::Exit;
use crate::output::{self, Format};
use look::Look;
use screen::{By, Screen};

/// How long a key that was pressed may wait for the terminal.
const KEYS_EVERY: Duration = Duration::from_millis(100);

pub(super) fn run(args: &Top) -> anyhow::Result<Exit> {
    let client = AdminClient::open(&args.admin)?;
    // The first look is taken before the terminal is: what is wrong with the server is better read there.
    let first = match Look::take(&client, By::Requests) {
        Ok(first) => first,
        Err(error) => return client.conclude(Err(error)),
    };
    if client.format() == Format::Json {
        output::print_json(&first.document)?;
        return Ok(Exit::Done);
    }
    if !std::io::stdout().is_terminal() {
        bail!("top draws on a terminal, and there is none: use --json for one look as JSON");
    }
    let mut screen = Screen::new(args.admin.admin_url.to_string(), first);
    // Taken back whatever happens, a panic included.
    let mut terminal = ratatui::try_init().context("cannot take over the terminal")?;
    let watched = watch(&client, Duration::from_secs(args.every), &mut terminal, &mut screen);
    ratatui::try_restore().context("cannot give the terminal back: type `reset`")?;
    watched.map(|()| Exit::Done)
}

/// Looks in the background, so that a server that does not answer does not keep anybody from leaving.
fn watch(
    client: &AdminClient,
    every: Duration,
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let (wanted, wants) = mpsc::channel();
    let (found, looks) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || look_again(client, every, &wants, &found));
        let shown = show(terminal, screen, &wanted, &looks);
        // Ends the one in the background, too.
        drop(wanted);
        shown
    })
}

/// Looks until nobody wants to see it any more.
fn look_again(
    client: &AdminClient,
    every: Duration,
    wants: &Receiver<By>,
    found: &Sender<anyhow::Result<Look>>,
) {
    let mut by = By::Requests;
    loop {
        match wants.recv_timeout(every) {
            Ok(other) => by = other,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if found.send(Look::take(client, by)).is_err() {
            return;
        }
    }
}

fn show(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    wanted: &Sender<By>,
    looks: &Receiver<anyhow::Result<Look>>,
) -> anyhow::Result<()> {
    loop {
        while let Ok(look) = looks.try_recv() {
            screen.saw(look);
        }
        terminal.draw(|frame| draw::draw(frame, screen)).context("cannot draw")?;
        // A terminal that changes its size is an event, too: the next round draws it anew.
        if !event::poll(KEYS_EVERY).context("cannot read the keyboard")? {
            continue;
        }
        let Event::Key(key) = event::read().context("cannot read the keyboard")? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
            KeyCode::Char('r') => drop(wanted.send(screen.turn())),
            KeyCode::Char('p') => screen.pause(),
            _ => {}
        }
    }
}
