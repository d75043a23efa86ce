//! Draws the live view: on anything, as large as it is.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Sparkline, Table};

use super::look::Overview;
use super::screen::{By, Pace, Screen};
use crate::table::cell;

/// Fewer columns than this have room for one table, and not for two beside each other.
const WIDE: u16 = 72;
/// How many lines the curve and the times of decisions take.
const CURVE: u16 = 6;

pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let lines = [Constraint::Length(2), Constraint::Length(CURVE), Constraint::Min(3), Constraint::Length(1)];
    let [head, middle, rest, foot] = Layout::vertical(lines).areas(frame.area());
    draw_head(frame, head, screen);
    draw_curve(frame, middle, &screen.look.overview);
    if rest.width >= WIDE {
        let halves = [Constraint::Percentage(40), Constraint::Percentage(60)];
        let [left, right] = Layout::horizontal(halves).areas(rest);
        draw_reasons(frame, left, &screen.look.overview);
        draw_callers(frame, right, screen);
    } else {
        let halves = [Constraint::Percentage(40), Constraint::Percentage(60)];
        let [above, below] = Layout::vertical(halves).areas(rest);
        draw_reasons(frame, above, &screen.look.overview);
        draw_callers(frame, below, screen);
    }
    draw_foot(frame, foot, screen);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let overview = &screen.look.overview;
    let mode = match overview.mode.as_str() {
        "normal" => "normal".green(),
        other => Span::styled(cell(other), Style::new().fg(Color::Black).bg(Color::Yellow)),
    };
    let alerts = match overview.alerts_firing {
        0 => Span::raw("no alerts"),
        count => Span::styled(format!("{count} alerts"), Style::new().fg(Color::Red).bold()),
    };
    let first = Line::from(vec![
        "sluicegate".bold(),
        Span::raw("  "),
        mode,
        Span::raw("  "),
        alerts,
        Span::raw(format!("  policy {}  {}", overview.policy_version, screen.server)),
    ]);
    let Overview { in_flight, homes, blocks, .. } = overview;
    let second = match &screen.trouble {
        Some(trouble) => Line::from(format!("not current: {}", cell(trouble))).red(),
        None => Line::from(format!("{in_flight} in flight  {homes} callers with meters  {blocks} blocked")),
    };
    frame.render_widget(Paragraph::new(vec![first, second]), area);
}

fn draw_curve(frame: &mut Frame<'_>, area: Rect, overview: &Overview) {
    let last = overview.last();
    let title = format!(
        " admitted {}/s  refused {}/s ",
        a_second(last.admitted, overview.step_s),
        a_second(last.refused(), overview.step_s)
    );
    let block = Block::bordered().title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [curve, times] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(inner);
    let done = overview.series.len().saturating_sub(1);
    let shown = done.saturating_sub(usize::from(curve.width));
    let sums = overview.series[shown..done].iter().map(|step| step.admitted + step.refused());
    let sums: Vec<u64> = sums.collect();
    frame.render_widget(Sparkline::default().data(&sums).style(Style::new().fg(Color::Cyan)), curve);
    let fronts = overview.fronts.iter().filter(|front| front.count > 0);
    let fronts = fronts.map(|front| {
        format!("{}: p50 {}, p99 {}", cell(&front.front), micros(front.p50_us), micros(front.p99_us))
    });
    frame.render_widget(Paragraph::new(fronts.collect::<Vec<_>>().join("   ")).dim(), times);
}

fn draw_reasons(frame: &mut Frame<'_>, area: Rect, overview: &Overview) {
    let block = Block::bordered().title(" refused within a minute ");
    let reasons = overview.refusals();
    if reasons.is_empty() {
        return frame.render_widget(Paragraph::new("Nobody.").block(block), area);
    }
    let rows = reasons.into_iter().map(|(reason, count)| Row::new([cell(reason), count.to_string()]));
    frame.render_widget(Table::new(rows, [Constraint::Fill(1), Constraint::Length(10)]).block(block), area);
}

fn draw_callers(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let block = Block::bordered().title(format!(" callers by {} ", screen.by.as_str()));
    if screen.look.callers.is_empty() {
        let nobody = match screen.by {
            By::Requests => "Nobody has called lately.",
            By::Refusals => "Nobody was refused lately.",
        };
        return frame.render_widget(Paragraph::new(nobody).block(block), area);
    }
    let rows = screen.look.callers.iter().map(|caller| {
        let tier = caller.tier.as_deref().unwrap_or("-");
        Row::new([cell(&caller.id), cell(tier), cell(&caller.kind), caller.count.to_string()])
    });
    let widths = [Constraint::Fill(2), Constraint::Fill(1), Constraint::Length(7), Constraint::Length(9)];
    let header = Row::new(["caller", "tier", "kind", "count"]).add_modifier(Modifier::BOLD);
    frame.render_widget(Table::new(rows, widths).header(header).block(block), area);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let pace = match screen.pace {
        Pace::Live => "p pause",
        Pace::Paused => "p go on (paused)",
    };
    let other = match screen.by {
        By::Requests => "r by refusals",
        By::Refusals => "r by requests",
    };
    let keys = format!("q quit  {other}  {pace}  as of {}", cell(&screen.look.overview.now));
    frame.render_widget(Paragraph::new(keys).dim(), area);
}

/// So many in a step of so many seconds, as so many a second: with one decimal below ten.
fn a_second(count: u64, step_s: u64) -> String {
    let tenths = count.saturating_mul(10) / step_s.max(1);
    if tenths < 100 { format!("{}.{}", tenths / 10, tenths % 10) } else { (tenths / 10).to_string() }
}

fn micros(micros: u64) -> String {
    if micros < 10_000 { format!("{micros} µs") } else { format!("{} ms", micros / 1_000) }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::*;
    use crate::commands::top::look::Look;

    fn look() -> Look {
        let step = |admitted, limited| {
            let refused = json!({"rate_limited": limited, "blocked": 1});
            json!({"at": "", "admitted": admitted, "refused": refused})
        };
        let overview = json!({
            "now": "2026-11-01T12:00:00.000Z", "started": "2026-11-01T10:00:00.000Z", "mode": "degraded",
            "policy_version": 3, "step_s": 10,
            "series": [step(100, 10), step(200, 0), step(123, 40), step(5, 0)],
            "totals": {"admitted": 428, "refused": {}},
            "fronts": [{"front": "gateway", "count": 9, "p50_us": 12, "p99_us": 15_300}],
            "in_flight": 7, "homes": 1_234, "blocks": 2, "alerts_firing": 1
        });
        let top = json!({"since": "", "items": [
            {"kind": "account", "id": "acme", "tier": "pro", "count": 400, "error_at_most": 3},
            {"kind": "client", "id": "cl_\u{1b}[31m", "tier": null, "count": 12, "error_at_most": 3}
        ]});
        Look::of(overview, top).unwrap()
    }

    fn drawn(width: u16, height: u16, screen: &Screen) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, screen)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn everything_is_on_a_screen_of_usual_size() {
        let screen = Screen::new("http://127.0.0.1:9090".to_owned(), look());
        let text = drawn(100, 24, &screen);
        for part in [
            "degraded",
            "1 alerts",
            "policy 3",
            "7 in flight",
            "1234 callers",
            "admitted 12/s  refused 4.1/s",
            "gateway: p50 12 µs, p99 15 ms",
            "rate_limited",
            "50",
            "acme",
            "400",
            "callers by requests",
            "q quit",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn no_size_of_a_terminal_is_too_small_or_too_odd() {
        let mut screen = Screen::new("http://127.0.0.1:9090".to_owned(), look());
        for (width, height) in [(1, 1), (2, 3), (20, 5), (40, 12), (71, 10), (72, 9), (400, 3), (300, 100)] {
            drawn(width, height, &screen);
        }
        let narrow = drawn(40, 24, &screen);
        assert!(narrow.contains("acme") && narrow.contains("rate_limited"), "{narrow}");
        screen.look.overview.series.clear();
        screen.look.callers.clear();
        assert!(drawn(100, 24, &screen).contains("Nobody has called lately."));
    }

    #[test]
    fn what_was_seen_stays_while_the_server_does_not_answer_and_while_somebody_reads() {
        let mut screen = Screen::new("http://127.0.0.1:9090".to_owned(), look());
        screen.saw(Err(anyhow::anyhow!("connection refused")));
        let text = drawn(100, 24, &screen);
        assert!(text.contains("not current: connection refused") && text.contains("acme"), "{text}");
        screen.pause();
        let mut other = look();
        other.callers.clear();
        screen.saw(Ok(other));
        assert!(drawn(100, 24, &screen).contains("acme"));
        screen.pause();
        assert_eq!(screen.turn(), By::Refusals);
        assert!(drawn(100, 24, &screen).contains("callers by refusals"));
    }
}
