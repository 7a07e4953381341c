//! `statetop plan`: what another partition count would do, as a page, JSON or CSV.

use std::io::{self, Write};

use super::args::{Format, PlanArgs};
use super::csv;
use super::exit::{CliError, Exit, INTERRUPTED};
use super::json;
use super::keys::words;
use super::look::{Look, Role};
use super::number::ratio_or_dash;
use super::page::Page;
use super::read::{Meter, reading};
use super::surroundings::Surroundings;
use super::table::{Align, Cell, Table};
use super::text;
use crate::analysis::Distribution;
use crate::analysis::consequences::Change;
use crate::analysis::verdict::{VerdictKind, WrongKnob, hot_key_sentence};
use crate::figures::{bytes, count, plural};
use crate::reader::{PlanQuestion, PlanRequest};
use crate::report::{LayoutReport, PlanReport, Reveal};
use crate::task::Cancel;
use crate::units::Bytes;

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, around: &mut Surroundings<'_>) -> Result<Exit, CliError> {
    let source = around.open_target(&args.target)?;
    let cancel = Cancel::default();
    (around.on_interrupt)(&cancel);
    let place = &args.place;
    let request = PlanRequest {
        batch: place.batch,
        operator: reading::operator(
            source.as_ref(),
            place.operator.as_ref(),
            place.batch,
            &cancel,
        )?,
        store: place.store.clone(),
    };
    let state = reading::state(source.as_ref())?;
    let meter = Meter::new(around.err, around.err_kind);
    let basis = state.plan(&request, &cancel, &|progress| meter.show(progress));
    meter.finish();
    let report = basis?.report(&PlanQuestion {
        to: args.to,
        curve: args.curve.as_ref().map(|counts| counts.0.clone()).unwrap_or_default(),
        cores: args.cores,
        bound: args.bound,
        nodes: args.cost.nodes,
        cap: args.cost.node_memory_cap,
        price: args.cost.price,
    });
    let look = around.look(args.output.color);
    let format = args.output.format.unwrap_or(Format::Table);
    match (format, args.to) {
        (Format::Csv, None) if !report.curve.is_empty() => curve_csv(&report, around.out)?,
        _ => print(&report, Reveal::of(args.reveal), format, look, around.out)?,
    }
    if report.partial {
        return Ok(INTERRUPTED);
    }
    Ok(Exit::by_findings(&report.findings))
}

/// Prints the report. A key in JSON is exact; on the page it is masked unless revealed.
pub(crate) fn print(
    report: &PlanReport,
    reveal: Reveal,
    format: Format,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Table => out.write_all(page(report, reveal, look).as_bytes()),
        Format::Json => json::write(report, out),
        Format::Csv => csv(report, out),
    }
}

/// The report as a page.
pub(crate) fn page(report: &PlanReport, reveal: Reveal, look: Look) -> String {
    let mut page = Page::new(look);
    page.push(look.paint(Role::Title, &text::clean(&report.checkpoint)));
    let batch =
        report.batch.map_or_else(|| "no committed batch".to_owned(), |b| format!("batch {b}"));
    let how = match report.verdict.evidence.wrong_knob {
        Some(WrongKnob::NoGroupingKey) => "",
        _ => ", every key rehashed",
    };
    let about = format!(
        "{batch}, operator {} {}: from {} to {} partitions{how}",
        report.operator,
        text::clean(&report.operator_name),
        count(u64::from(report.from)),
        count(u64::from(report.to))
    );
    page.sentence(Role::Text, &about);
    page.sentence(role(report.verdict.kind), &format!("{}.", verdict(report, reveal, look)));
    if report.partial {
        page.sentence(Role::Warning, "Given up early: only what was read until then is in it.");
    }
    if !report.unreadable.is_empty() {
        let unreadable = plural(report.unreadable.len() as u64, "partition", "partitions");
        let sentence = format!("{unreadable} could not be read and are in neither layout.");
        page.sentence(Role::Warning, &sentence);
    }
    for instead in &report.verdict.evidence.instead {
        page.labelled("instead", instead);
    }
    page.blank();
    page.extend(layouts(report, look).lines(look, 2));
    if !report.curve.is_empty() {
        page.blank();
        page.extend(curve(report, look).lines(look, 2));
    }
    if let Some(chosen) = &report.recommendation {
        page.blank();
        page.labelled(chosen_word(report), &format!("{}: {}", chosen.partitions, chosen.why));
    }
    page.blank();
    page.extend(consequences(report).lines(look, 2));
    page.sentence(Role::Muted, &measured(report));
    page.findings(&report.findings.iter().collect::<Vec<_>>());
    page.into_text()
}

/// The sentence of the verdict, with the hot key by its name where there is one.
fn verdict(report: &PlanReport, reveal: Reveal, look: Look) -> String {
    let verdict = &report.verdict;
    match (&verdict.kind, &verdict.evidence.key) {
        (VerdictKind::HotKey, Some(key)) => {
            hot_key_sentence(&words(key, reveal, look), &verdict.evidence)
        }
        _ => text::clean(&verdict.text).into_owned(),
    }
}

fn role(kind: VerdictKind) -> Role {
    match kind {
        VerdictKind::HotKey | VerdictKind::WrongKnob => Role::Warning,
        VerdictKind::UniformGrowth | VerdictKind::Collision | VerdictKind::Balanced => Role::Info,
    }
}

/// Statistics of rows and bytes, before and after.
fn layouts(report: &PlanReport, look: Look) -> Table {
    let mut table = comparison();
    table.push(vec![
        Cell::plain("partitions"),
        Cell::plain(&count(u64::from(report.from))),
        Cell::plain(&count(u64::from(report.to))),
    ]);
    let of = |layout: &LayoutReport, show: &dyn Fn(&Distribution) -> String| {
        layout.skew.rows.as_ref().map_or_else(|| "-".to_owned(), show)
    };
    let mut push = |name: &str, show: &dyn Fn(&Distribution) -> String| {
        table.push(vec![
            Cell::plain(name),
            Cell::plain(&of(&report.before, show)),
            Cell::plain(&of(&report.after, show)),
        ]);
    };
    push("largest, rows", &|rows| count(rows.max));
    push("mean, rows", &|rows| decimal(rows.mean));
    push("p99, rows", &|rows| count(rows.p99));
    push(look.max_over_mean(), &|rows| ratio_or_dash(rows.max_over_mean));
    push("empty", &|rows| count(rows.empty));
    let largest = |layout: &LayoutReport| {
        layout.skew.bytes.as_ref().map_or_else(|| "-".to_owned(), |size| bytes(Bytes(size.max)))
    };
    table.push(vec![
        Cell::plain("largest, bytes"),
        Cell::plain(&largest(&report.before)),
        Cell::plain(&largest(&report.after)),
    ]);
    table
}

fn curve(report: &PlanReport, look: Look) -> Table {
    let mut table = Table::new(vec![
        ("count", Align::Right),
        ("largest", Align::Right),
        ("mean", Align::Right),
        (look.max_over_mean(), Align::Right),
        ("p99", Align::Right),
        ("empty", Align::Right),
        ("", Align::Left),
    ]);
    for point in &report.curve {
        let marks = [
            (point.partitions == report.from).then_some("now"),
            (point.partitions == report.to).then_some("asked for"),
            (Some(point.partitions) == report.recommended).then_some(chosen_word(report)),
        ];
        let marks: Vec<&str> = marks.into_iter().flatten().collect();
        table.push(vec![
            Cell::plain(&count(u64::from(point.partitions))),
            Cell::plain(&count(point.max)),
            Cell::plain(&decimal(point.mean)),
            Cell::plain(&ratio_or_dash(point.max_over_mean)),
            Cell::plain(&count(point.p99)),
            Cell::plain(&count(point.empty)),
            Cell::new(Role::Info, &marks.join(", ")),
        ]);
    }
    table
}

/// A count that misses the bound is no recommendation.
fn chosen_word(report: &PlanReport) -> &'static str {
    match &report.recommendation {
        Some(chosen) if !chosen.within_bound => "nearest",
        _ => "recommend",
    }
}

/// What it costs; lines for what was not told are left out.
fn consequences(report: &PlanReport) -> Table {
    let numbers = &report.consequences.numbers;
    let mut table = comparison();
    let mut push = |name: &str, change: Option<Change<String>>| {
        if let Some(Change { before, after }) = change {
            table.push(vec![Cell::plain(name), Cell::plain(&before), Cell::plain(&after)]);
        }
    };
    push("instances", Some(numbers.instances.map(count)));
    push("instances per node", numbers.instances_per_node.map(|n| n.map(count)));
    push("memory per node, unbounded", numbers.memory_unbounded.map(|n| n.map(bytes)));
    let cap = numbers.memory_bounded.map(|cap| Change { before: cap, after: cap });
    push("memory per node, bounded", cap.map(|n| n.map(bytes)));
    push("  of it per instance", numbers.memory_bounded_per_instance.map(|n| n.map(bytes)));
    push("objects per batch", numbers.objects_per_batch.map(|n| n.map(decimal)));
    push("objects per day", numbers.objects_per_day.map(|n| n.map(decimal)));
    push("their price per day", numbers.cost_per_day.map(|n| n.map(money)));
    table
}

/// What the objects were measured by, and what is missing for more.
fn measured(report: &PlanReport) -> String {
    let numbers = &report.consequences.numbers;
    let mut parts = Vec::new();
    match &numbers.measured {
        Some(measured) => parts.push(format!(
            "Objects: measured in {} ({} to {}), scaled by the count.",
            plural(measured.batches, "batch", "batches"),
            measured.first,
            measured.last
        )),
        None => parts.push("Objects: no retained batch to measure them by.".to_owned()),
    }
    if numbers.instances_per_node.is_none() {
        parts.push("--nodes tells memory per node.".to_owned());
    }
    if numbers.cost_per_day.is_none() && numbers.objects_per_day.is_some() {
        parts.push("--price tells what they cost.".to_owned());
    }
    parts.push("Formulas: plan --help.".to_owned());
    parts.join(" ")
}

fn comparison() -> Table {
    Table::new(vec![("", Align::Left), ("now", Align::Right), ("then", Align::Right)])
}

/// A number with one decimal below ten, without from there on.
fn decimal(value: f64) -> String {
    if value < 9.95 {
        return format!("{value:.1}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
    count(value.round() as u64)
}

fn money(value: f64) -> String {
    format!("{value:.2}")
}

/// One line per count that was compared.
fn curve_csv(report: &PlanReport, out: &mut dyn Write) -> io::Result<()> {
    let heading =
        ["batch", "operator", "partitions", "max", "mean", "max_over_mean", "p99", "empty"];
    let records = report.curve.iter().map(|point| {
        [
            csv::or_empty(report.batch),
            report.operator.to_string(),
            point.partitions.to_string(),
            point.max.to_string(),
            point.mean.to_string(),
            csv::or_empty(point.max_over_mean),
            point.p99.to_string(),
            point.empty.to_string(),
        ]
    });
    csv::write(heading, records, out)
}

/// One line per partition, of both layouts.
fn csv(report: &PlanReport, out: &mut dyn Write) -> io::Result<()> {
    let heading = ["batch", "operator", "count", "partition", "rows", "bytes"];
    let layouts = [(report.from, &report.before), (report.to, &report.after)];
    let records = layouts.into_iter().flat_map(|(partitions, layout)| {
        layout.partitions.iter().map(move |load| {
            [
                csv::or_empty(report.batch),
                report.operator.to_string(),
                partitions.to_string(),
                load.partition.to_string(),
                load.rows.to_string(),
                load.bytes.to_string(),
            ]
        })
    });
    csv::write(heading, records, out)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::analysis::consequences::{BatchWrites, Consequences, Setting};
    use crate::analysis::layout::{HashCollector, KeyHashes};
    use crate::analysis::verdict::{Case, KEYS_ASKED, Verdict};
    use crate::analysis::{DEFAULT_BOUND, recommend};
    use crate::cli::look::Paint;
    use crate::console::Charset;
    use crate::report::Grade;
    use crate::units::{BatchId, OperatorId};

    const UTF8: Look = Look { paint: Paint::Plain, charset: Charset::Utf8, columns: 80 };

    /// At 4: partition 1 holds hashes 1 and 5.
    fn report() -> PlanReport {
        let mut collector = HashCollector::new(100);
        for (hash, rows) in [(1, 6100), (5, 3900), (0, 1000), (2, 1000), (3, 1000)] {
            collector.add(hash, rows, rows * 100).unwrap();
        }
        let hashes = KeyHashes::of([collector]).unwrap();
        let one = NonZeroUsize::MIN;
        let (before, after) = (hashes.layout(4, one), hashes.layout(8, one));
        let (largest, _) = before.largest().unwrap();
        let largest = hashes.in_partition(largest, 4, KEYS_ASKED);
        let mut verdict = Verdict::of(&Case {
            before: &before,
            after: &after,
            largest: Some(&largest),
            bound: DEFAULT_BOUND,
            wrong_knob: None,
        });
        verdict.evidence.key = Some(serde_json::json!({ "account_id": "acct-7" }));
        let curve = hashes.curve(&[4, 6, 8], one);
        let recommendation = recommend(&curve, None, DEFAULT_BOUND);
        let batch = |batch, interval| BatchWrites { batch: BatchId(batch), files: 40, interval };
        PlanReport {
            checkpoint: "/ckpt/fraud".to_owned(),
            batch: Some(BatchId(1841)),
            operator: OperatorId(0),
            operator_name: "symmetricHashJoin".to_owned(),
            stores: vec!["default".to_owned()],
            from: 4,
            to: 8,
            keys: 5,
            grade: Grade::Exact,
            partial: false,
            unreadable: Vec::new(),
            before: (&before).into(),
            after: (&after).into(),
            verdict,
            curve,
            recommended: recommendation.as_ref().map(|chosen| chosen.partitions),
            recommendation,
            consequences: Consequences::of(&Setting {
                from: 4,
                to: 8,
                stores: 1,
                nodes: Some(2),
                cap: Some(Bytes(2_000_000_000)),
                price_per_thousand: Some(0.005),
                batches: &[batch(1840, None), batch(1841, Some(10.0))],
            })
            .into(),
            findings: Vec::new(),
        }
    }

    fn snapshot(name: &str, page: &str) {
        insta::with_settings!({
            snapshot_path => "../../tests/cmd/snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, page);
        });
    }

    #[test]
    fn a_page_with_a_hot_key() {
        let page = page(&report(), Reveal::Masked, UTF8);
        assert!(!page.contains("acct-7"), "{page}");
        snapshot("plan_hot_key", &page);
    }

    #[test]
    fn json_has_the_agreed_names() {
        let json = serde_json::to_value(report()).unwrap();
        for name in
            ["from", "to", "before", "after", "verdict", "curve", "recommended", "consequences"]
        {
            assert!(json.get(name).is_some(), "{name}");
        }
        for name in ["partitions", "max", "mean", "max_over_mean", "p99", "empty"] {
            assert!(json["curve"][0].get(name).is_some(), "{name}");
        }
        assert_eq!(json["verdict"]["kind"], "hot_key");
        assert_eq!(json["verdict"]["evidence"]["key"]["account_id"], "acct-7");
        assert_eq!(json["after"]["partitions"][5]["rows"], 3900);
        assert!(json["consequences"]["formulas"]["instances"].is_string());
    }

    #[test]
    fn csv_has_both_layouts() {
        let mut out = Vec::new();
        csv(&report(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1 + 4 + 8);
        assert_eq!(text.lines().nth(2), Some("1841,0,4,1,10000,1000000"));
    }
}
